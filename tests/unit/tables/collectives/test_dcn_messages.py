"""Messages between slices: how many, how long each was under way, when any was."""

from __future__ import annotations

from stepscope.formats.xspace import decode
from stepscope.tables.collectives.dcn_messages import DcnPath, dcn_paths
from stepscope.tables.core.profile import Host, Profile
from tests.profiles.dcn import message
from tests.profiles.model import EventLike, host, line, space

US = 1_000_000


def paths(*hosts: list[list[EventLike]]) -> tuple[DcnPath, ...]:
    spaces = (space(host(*(line("t", *events) for events in threads))) for threads in hosts)
    return dcn_paths(
        Profile("p", tuple(Host(f"h{i}", decode(one)) for i, one in enumerate(spaces)))
    )


def test_messages_that_overlap_keep_the_network_busy_once() -> None:
    # From 0 to 100 and from 60 to 120 on one thread, from 90 to 150 on another, then 200 to 210.
    found = paths(
        [
            [message(100, 100, 1000, 1, 0), message(120, 60, 500, 1, 0)],
            [message(150, 60, 700, 1, 0), message(210, 10, 20, 1, 0)],
        ]
    )
    (one,) = found
    assert (one.source, one.destination, one.messages, one.bytes) == (1, 0, 4, 2220)
    assert sorted(one.latency_ps.tolist()) == [10 * US, 60 * US, 60 * US, 100 * US]
    assert one.busy_ps == 160 * US


def test_hosts_receive_beside_each_other() -> None:
    (one,) = paths([[message(100, 100, 8, 1, 0)]], [[message(100, 50, 8, 1, 0)]])
    assert one.busy_ps == 150 * US


def test_paths_are_told_apart_the_most_bytes_first() -> None:
    found = paths([[message(9, 1, 8, 1, 0), message(9, 1, 80, 2, 0), message(9, 1, 9, 0, 0)]])
    assert [(one.source, one.destination) for one in found] == [(2, 0), (0, 0), (1, 0)]


def test_a_message_whose_clocks_differ_counts_without_a_latency() -> None:
    (one,) = paths([[message(100, 0, 1000, 1, 0), message(200, 50, 10, 1, 0)]])
    assert (one.messages, one.skewed, one.bytes, one.timed_bytes) == (2, 1, 1010, 10)
    assert one.latency_ps.tolist() == [50 * US]


def test_a_message_that_does_not_say_who_sent_it_is_none() -> None:
    name, at, length, stats = message(100, 10, 1000, 1, 0)
    del stats["dcn_source_slice_id"]
    assert paths([[(name, at, length, stats)]]) == ()
    assert paths([[("MegaScale: Send Finished", 0, 1)]]) == ()
    assert paths() == ()
