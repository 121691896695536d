"""What to try about parts of which only a name is known."""

from __future__ import annotations

import pytest

from tests.unit.advice.test_largest_part import account, first, part


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("## backward ##", "Record the ops of all threads"),
        ("Forward", "Record the ops of all threads"),
        ("preprocess", "Leave preprocess out"),
        ("write_steps_file", "Leave write_steps_file out"),
    ],
)
def test_a_phase_of_training_is_recorded_better_and_not_left_out(name: str, said: str) -> None:
    row = part(kind="region", name=name, first=name, function="", file="", line=0)
    assert first(account(row)).actions[0].startswith(said)
