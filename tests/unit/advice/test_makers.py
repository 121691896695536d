"""Who makes what a call of the loop may wait for."""

from __future__ import annotations

from tests.unit.advice.test_largest_part import account, first, op, part

SERVER = {
    "thread": "Thread-1", "function": "Handler.answer", "file": "serve.py", "line": 32,
    "busy_frac": 0.4, "loop_waits": False, "count": 5,
}  # fmt: skip
CALL = part(kind="library", time_ms=7.0, first="urllib.urlopen", first_kind="library")


def test_it_is_not_told_of_what_computes_or_of_threads_that_idle() -> None:
    assert "Handler" not in first(account(op("MatMul", 7.0), rivals=[SERVER])).message
    assert "Handler" not in first(account(CALL, rivals=[SERVER | {"busy_frac": 0.02}])).message
