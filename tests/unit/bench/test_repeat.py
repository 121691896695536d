"""A repeated recording is the same one several times over; nothing leaks between copies."""

from __future__ import annotations

from typing import Any

from bench.repeat import repeat_in_time
from tests.profiles import Event, host, line, parse, space, u, worked_example


def events(data: bytes, plane: int = 0, line: int = 0) -> list[tuple[str, int, int]]:
    """(name, start in ps, duration in ps) of one line."""
    owner = parse(data).planes[plane]
    names = {key: entry.name for key, entry in owner.event_metadata.items()}
    return [
        (names[event.metadata_id], event.offset_ps, event.duration_ps)
        for event in owner.lines[line].events
    ]


def stats(data: bytes, name: str) -> list[Any]:
    """Every value of a stat, in file order over all planes and lines."""
    found = []
    for plane in parse(data).planes:
        ids = {key for key, entry in plane.stat_metadata.items() if entry.name == name}
        for thread in plane.lines:
            for event in thread.events:
                values = [stat for stat in event.stats if stat.metadata_id in ids]
                found += [getattr(stat, stat.WhichOneof("value")) for stat in values]
    return found


def test_once_is_the_same() -> None:
    data = worked_example(gpu=True)
    assert parse(repeat_in_time(data, 1)) == parse(data)


def test_each_copy_follows_the_last_by_the_whole_span() -> None:
    data = worked_example(gpu=True)
    once, thrice = events(data), events(repeat_in_time(data, 3))
    assert len(thrice) == 3 * len(once)
    period = 7_900_000_000 + 1_000_000  # eight steps from 0 to 7.9 ms, and the gap
    for copy in range(3):
        part = thrice[copy * len(once) : (copy + 1) * len(once)]
        assert part == [(name, start + copy * period, length) for name, start, length in once]


def test_step_numbers_go_on_and_links_stay_within_their_copy() -> None:
    twice = repeat_in_time(worked_example(gpu=True), 2)
    assert stats(twice, "step_num") == list(range(16))
    correlations = stats(twice, "correlation_id")
    assert len(correlations) == 2 * 8 * 4
    assert all(correlations.count(number) == 2 for number in correlations)
    assert sorted(stats(twice, "_p")) == sorted(stats(twice, "_c")) == list(range(16))


def test_large_ids_keep_their_sign_and_are_distinct() -> None:
    big = 2**64 - 5
    data = space(host(line("t", ("a", 0, 1, {"_p": u(big)}), ("b", 2, 1, {"_c": u(big)}))))
    twice = repeat_in_time(data, 2)
    producers, consumers = stats(twice, "_p"), stats(twice, "_c")
    assert producers == consumers
    assert len(set(producers)) == 2
    assert all(value >= 2**63 for value in producers)


def test_other_stats_and_aggregated_events_are_as_they_were() -> None:
    counted = Event("c", 0, 5, {"note": "text"}, occurrences=3)
    data = space(host(line("t", counted, ("d", 7, 1, {"step_num": 4, "flops": 9}))))
    twice = parse(repeat_in_time(data, 2)).planes[0].lines[0].events
    assert [event.num_occurrences for event in twice] == [3, 0, 3, 0]
    assert [event.offset_ps > 7_000_000 for event in twice] == [False, False, False, True]
    assert stats(repeat_in_time(data, 2), "flops") == [9, 9]
    assert stats(repeat_in_time(data, 2), "note") == ["text", "text"]
