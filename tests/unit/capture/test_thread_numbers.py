"""Samples and the frameworks' own events number threads differently: what tells which is which."""

from __future__ import annotations

import threading

from stepscope.capture.recorders.python_sampler import _Looks
from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.core.profile import Host
from stepscope.tables.core.stats import event_stats

MS = 1_000_000


def test_the_first_slice_of_a_thread_says_what_the_thread_library_calls_it() -> None:
    looks = _Looks()
    looks.period_ns = 10 * MS
    for at in range(3):
        looks.take(at * 10 * MS, 0)
    host = Host("h", decode(looks.plane().xspace()))
    said = event_stats(host).ints(names.THREAD_IDENT)
    lines = host.space.lines_of(said.rows).tolist()
    told = {host.space.lines[row].name: one for row, one in zip(lines, said.values, strict=True)}
    assert told["MainThread"] == threading.main_thread().ident
