"""Steps as results say them."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.steps.session import session_steps
from stepscope.verdicts.account import FOUND, steps_account
from tests.profiles import no_events, worked_example


@pytest.mark.parametrize(
    ("data", "found"),
    [(worked_example(gpu=True), "from step markers"), (no_events(), "found")],
)
def test_how_steps_were_found_is_said_in_words(data: bytes, found: str) -> None:
    account = steps_account(session_steps(Profile("s", (Host("h", decode(data)),))))
    assert (account.found, FOUND[account.source]) == (found, found)
