"""The call that most of what runs op by op is for, and what to do about it."""

from __future__ import annotations

import pytest

from stepscope.advice.rules.host.eager_execution import _calls
from stepscope.result import Place
from tests.unit.advice.test_largest_part import account, part

PLACE = Place("Monitor.on_train_batch_end", "monitor.py", 19)


@pytest.mark.parametrize(
    ("first", "share", "said", "is_summary"),
    [
        ("tensorflow.histogram", 0.4, " Most of that is for tensorflow.histogram.", True),
        (
            "keras.Mean.update_state",
            0.4,
            " Most of that is for keras.Mean.update_state.",
            False,
        ),
        ("tensorflow.histogram", 0.1, "", False),
        ("multiply", 0.9, "", False),
    ],
)
def test_what_most_is_handed_over_for_is_named(
    first: str, share: float, said: str, is_summary: bool
) -> None:
    here = part(
        kind="framework", name="framework", function=PLACE.function, file=PLACE.file, line=19,
        first=first, first_frac=share, time_ms=3.0,
    )  # fmt: skip
    actions, sentence = _calls(account(here), PLACE)
    assert sentence == said
    assert bool(actions) is is_summary
    assert _calls(account(here), Place("other", "monitor.py", 3)) == ((), "")
