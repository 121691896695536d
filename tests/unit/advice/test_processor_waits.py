"""Collectives on processors: who spends least in them came last, and the others wait for it."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import draw, event, nth, space
from tests.unit.advice.asking import Asked


def asked(**threads: str) -> Asked:
    """Processes of three steps of 1 ms: O computes, A exchanges on a thread of its own."""
    hosts = []
    for name, work in threads.items():
        own, meets = work.split()
        planes = draw(
            f"""
            /host:CPU
              main     S---------S---------S---------
              "        {own}
              gloo     {meets}
            """,
            unit_us=100,
            S=event("train", step_num=nth, _r=1),
            O=event("aten/mm:mm"),
            A=event("gloo:all_reduce"),
        )
        hosts.append(Host(name, decode(space(*planes))))
    return Asked(Profile("s", tuple(hosts)))


LATE = "OOOOOOOO..OOOOOOOO..OOOOOOOO.. ........AA........AA........AA"
EARLY = "OOO.......OOO.......OOO....... ...AAAAAAA...AAAAAAA...AAAAAAA"


def test_the_worker_that_waits_least_makes_the_others_wait() -> None:
    pair = asked(a=EARLY, b=LATE)
    found = pair.finding("straggler")
    # a spends 700 µs of each ms in the exchange, b 200: a waits 500 for b, which computes 500 more.
    assert found.measured["worker"] == "b"
    assert found.measured["caused_wait_ms"] == pytest.approx(0.5)
    assert found.measured["cause_ms"] == pytest.approx(0.5)
    assert found.measured["last_frac"] == 1.0
    # Only what b spends is a transfer.
    assert pair.finding("exposed-collectives").measured["exposed_ms"] == pytest.approx(0.2)


def test_workers_that_come_at_the_same_time_wait_for_nobody() -> None:
    even = asked(a=LATE, b=LATE)
    assert even.finding("exposed-collectives").measured["exposed_ms"] == pytest.approx(0.2)
