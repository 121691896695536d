"""The call that most of what runs op by op is for, and what to do about it."""

from __future__ import annotations

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
