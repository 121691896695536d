"""What the main thread waits for while a program starts."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from stepscope.capture.recorders.start_up import _Look, _Looks
from stepscope.capture.runtime import start_spans
from stepscope.capture.runtime.at_work import at_work

MS = 1_000_000


@pytest.mark.parametrize("records", [False, True])
def test_a_wait_while_a_session_begins_or_ends_is_the_recorders(records: bool) -> None:
    """PyTorch's profiler holds locks of its own while it begins and ends."""
    spans = start_spans.install()
    try:
        looks = _Looks(spans)
        first = looks._last
        later = _Look(first.now_ns + 50 * MS, first.cpu_ns, first.queue_ns, first.others_ns, 0)
        if records:
            with at_work():
                looks._add(later, ("threads", ""), sys._getframe())
        else:
            looks._add(later, ("threads", ""), sys._getframe())
        kind, _name, _place, wait = looks._stretches[-1].key
        looks.close()
    finally:
        start_spans.stop()
    assert (kind, wait) == (("recorder", "") if records else ("program", "lock"))


@pytest.mark.parametrize(
    "between", ["/v/site-packages/lazy/_loader.py", "<frozen importlib._bootstrap>"]
)
def test_a_package_is_imported_by_the_line_outside_of_it_and_of_importlib(between: str) -> None:
    known: dict[str, Any] = {"line": start_spans._importing_line}
    exec(compile("def load(): return line('lazy')", between, "exec"), known)
    assert known["load"]().rpartition(":")[0] == __file__
    exec(compile("def load(): return line('lazy')", "/v/site-packages/other/a.py", "exec"), known)
    assert known["load"]() == "/v/site-packages/other/a.py:1"
