"""The call that most of what runs op by op is for, and what to do about it."""

from __future__ import annotations

import pytest

from stepscope.result import Finding
from tests.unit.advice.made import finding, host_activity, with_calls
from tests.unit.advice.test_largest_part import account, part

AT = {"function": "Monitor.on_train_batch_end", "file": "monitor.py", "line": 19}


def eager(first: str, share: float, *, below: str) -> Finding:
    """Of a step whose ops are handed over below a function: for such a call, so much of it."""
    here = part(
        kind="framework", name="framework", **AT, first=first, first_frac=share, time_ms=3.0
    )
    called = AT | {"function": below, "framework_ms": 16.0}
    return finding(
        "eager-execution",
        host_activity=host_activity(eager_ops=100.0, usual_eager_ops=100.0),
        step_account=with_calls(account(here), called, step_time_ms=20.0),
    )


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
    place = " Most are handed over below Monitor.on_train_batch_end (monitor.py:19)."
    found = eager(first, share, below="Monitor.on_train_batch_end")
    assert found.message.endswith(place + said)
    assert found.actions[0].startswith("Write summaries in every n-th step") is is_summary
    other = eager(first, share, below="other")
    assert other.message.endswith(" Most are handed over below other (monitor.py:19).")
    assert other.actions[0].startswith("Compile the whole step")


def test_weights_that_go_through_numpy_and_back_are_to_stay_variables() -> None:
    """A function with .numpy() in it cannot be compiled as it is."""
    here = part(
        kind="framework",
        name="framework",
        **AT,
        first="keras.Layer.get_weights",
        first_frac=0.18,
        made_of="keras.Layer.get_weights 33%, follow 21%, keras.Layer.set_weights 15%",
        time_ms=3.0,
    )
    called = AT | {"function": "Monitor.on_train_batch_end", "framework_ms": 16.0}
    found = finding(
        "eager-execution",
        host_activity=host_activity(eager_ops=100.0, usual_eager_ops=100.0),
        step_account=with_calls(account(here), called, step_time_ms=20.0),
    )
    assert found.message.endswith(" 48% of that is for get_weights and set_weights.")
    assert found.actions[0].startswith("get_weights and set_weights copy every weight")
    assert "assign_add" in found.code["tensorflow"]
