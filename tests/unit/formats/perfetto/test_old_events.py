"""Track events in the words of Chrome's JSON, counters that events bring along or count on."""

from __future__ import annotations

from pathlib import Path

import stepscope
from stepscope.columns.space import Space
from stepscope.formats import FORMATS
from stepscope.store import read_pieces
from stepscope.timeline.flows import flows
from stepscope.wire import write as wire
from tests.unit.formats.layout import lines
from tests.unit.formats.perfetto.traces import (
    CLEARED,
    NEEDS,
    clocks,
    event,
    interned,
    packet,
    process,
    thread,
    track,
)

MAIN = ("/host:CPU", "trainer/main")
COUNTERS = ("/device:CUSTOM:Telemetry", "_counters_")
WRITERS = packet(flags=CLEARED), process(1, 40, "trainer"), thread(2, 40, 41, "main", 1)


def opened(folder: Path, *packets: bytes) -> Space:
    path = folder / "a.pftrace"
    path.write_bytes(b"".join([*WRITERS, *packets]))
    return FORMATS["perfetto"].open(read_pieces(str(path)), str(path))


def old(
    phase: str,
    name: str,
    *,
    at: int,
    id_: tuple[int, int] = (0, 0),
    cat: str = "c",
    more: bytes = b"",
    writer: int = 2,
) -> bytes:
    """An event without a type: its phase is Chrome's."""
    inner = wire.number(2, ord(phase)) + wire.number(*id_) + more
    return packet(event(0, writer, wire.text(22, cat), wire.blob(6, inner), name=name), at=at)


def placed(space: Space) -> dict[str, list[tuple[str, int, int]]]:
    """Name, start and length of what is on each line."""
    return {
        line: [(one["name"], one["start"], one["length"]) for one in events]
        for (_, line), events in lines(space).items()
    }


def test_marks_are_instants(tmp_path: Path) -> None:
    found = placed(opened(tmp_path, *(old(one, one, at=n) for n, one in enumerate("IiRn", 5))))
    assert found["trainer/main"] == [("I", 5, 0), ("i", 6, 0), ("R", 7, 0), ("n", 8, 0)]


def test_what_is_asynchronous_is_on_a_track_of_its_id(tmp_path: Path) -> None:
    """Two of one id nest; another id, category or, in the first generation, name is another."""
    other = thread(3, 40, 42, "io", 1)
    found = placed(
        opened(
            tmp_path,
            other,
            old("S", "load", at=10, id_=(11, 7)),
            old("S", "load", at=20, id_=(11, 7), writer=3),
            old("T", "load", at=25, id_=(11, 7)),
            old("F", "load", at=30, id_=(11, 7), writer=3),
            old("F", "load", at=80, id_=(11, 7)),
            old("b", "send", at=12, id_=(11, 8)),
            old("b", "copy", at=13, id_=(11, 8)),
            old("e", "copy", at=14, id_=(11, 8)),
            old("e", "send", at=15, id_=(11, 8)),
            old("b", "send", at=12, id_=(11, 8), cat="d"),
            old("e", "send", at=99, id_=(11, 8), cat="d"),
        )
    )
    assert found == {
        "trainer/load": [("load", 10, 70), ("load", 20, 10), ("load", 25, 0)],
        "trainer/send": [("send", 12, 87), ("send", 12, 3), ("copy", 13, 1)],
    }


def test_an_id_of_a_process_is_another_in_the_next(tmp_path: Path) -> None:
    found = placed(
        opened(
            tmp_path,
            process(5, 50, "loader"),
            thread(6, 50, 51, "main", 5),
            old("b", "read", at=10, id_=(10, 1)),
            old("b", "read", at=12, id_=(10, 1), writer=6),
            old("e", "read", at=20, id_=(10, 1)),
            old("e", "read", at=40, id_=(10, 1), writer=6),
        )
    )
    assert found == {"trainer/read": [("read", 10, 10)], "loader/read": [("read", 12, 28)]}


def test_events_that_are_bound_have_arrows(tmp_path: Path) -> None:
    bound = wire.number(8, 77) + wire.number(3, 2)
    space = opened(
        tmp_path,
        old("X", "launch", at=10, more=bound),
        old("X", "work", at=10_000, more=bound),
    )
    with stepscope.open(tmp_path / "a.pftrace") as session:
        found = flows(session.profile)
    names = [space.event_metadata.name[row] for row in space.events.metadata.tolist()]
    arrows = [(names[a], names[b]) for a, b in zip(found.source, found.target, strict=True)]
    assert arrows == [("launch", "work")]


def values(space: Space) -> list[tuple[str, int, float, str | None]]:
    """The samples of all counters by time: name, time, value, unit."""
    found = [
        (one["name"], one["start"], one["counter_value"], one.get("unit"))
        for one in lines(space)[COUNTERS]
    ]
    return sorted(found, key=lambda one: one[1])


def counting(name: str, *parts: bytes, uuid: int = 9) -> bytes:
    """A track that is a counter."""
    return track(uuid, name, 2, b"".join(parts))


def test_a_counter_of_what_was_added_starts_over_with_its_writer(tmp_path: Path) -> None:
    """Each writer counts for itself, and from 0 when it forgets what it said."""
    adds = counting("bytes", wire.number(5, 1), wire.number(3, 3), wire.number(4, 2))

    def count(value: int, at: int, writer: int, flags: int = 0) -> bytes:
        return packet(event(4, 9, wire.number(30, value)), at=at, sequence=writer, flags=flags)

    space = opened(
        tmp_path,
        adds,
        count(100, 10, 7),
        count(50, 15, 8),
        count(10, 20, 7),
        count(5, 25, 8),
        count(-4, 28, 7),
        count(3, 30, 7, CLEARED),
    )
    assert values(space) == [
        ("bytes", 10, 200.0, "bytes"),
        ("bytes", 15, 100.0, "bytes"),
        ("bytes", 20, 220.0, "bytes"),
        ("bytes", 25, 110.0, "bytes"),
        ("bytes", 28, 212.0, "bytes"),
        ("bytes", 30, 6.0, "bytes"),
    ]


def test_events_bring_values_of_counters_along(tmp_path: Path) -> None:
    """The tracks are the event's own, else the writer's usual ones; more values than tracks go."""
    usual = wire.blob(59, wire.blob(11, wire.number(11, 2) + wire.number(31, 9)))
    real = wire.fixed64(46, 0x3FE0_0000_0000_0000)  # 0.5
    space = opened(
        tmp_path,
        counting("", wire.number(1, 1), wire.number(4, 1000)),
        track(8, "share", 2, b""),
        packet(usual, flags=CLEARED),
        packet(event(1, 2, wire.number(12, 10), name="step"), at=10),
        packet(event(2, 2, wire.number(12, 15), wire.number(12, 99)), at=20),
        packet(event(3, 2, wire.number(45, 8), real, name="mark"), at=30),
        packet(event(3, 2, wire.number(31, 8), wire.number(12, 2), name="mark"), at=40),
        packet(event(4, 8, wire.number(30, 7)), at=50),
    )
    assert values(space) == [
        ("thread_time", 10, 10_000.0, "ns"),
        ("thread_time", 20, 15_000.0, "ns"),
        ("share", 30, 0.5, None),
        ("share", 40, 2.0, None),
        ("share", 50, 7.0, None),
    ]
    assert [one["name"] for one in lines(space)[MAIN]] == ["step", "mark", "mark"]
    assert any("1 packets or values count something" in one for one in space.warnings)


def test_what_a_writer_says_of_all_its_events_ends_when_it_starts_over(tmp_path: Path) -> None:
    """In one batch of packets, too: its usual track before is not the one after."""

    def usual(number: int) -> bytes:
        return packet(wire.blob(59, wire.blob(11, wire.number(11, number))), flags=CLEARED)

    def mark(at: int) -> bytes:
        return packet(wire.blob(11, wire.number(9, 3) + wire.text(23, "m")), at=at)

    found = placed(
        opened(tmp_path, thread(3, 40, 42, "io", 1), usual(2), mark(10), usual(3), mark(20))
    )
    assert found == {"trainer/main": [("m", 10, 0)], "trainer/io": [("m", 20, 0)]}


def test_clocks_of_writers_are_theirs(tmp_path: Path) -> None:
    said = packet(clocks((6, 1_000), (3, 400)), wire.blob(59, wire.number(58, 3)), flags=CLEARED)
    other = packet(event(3, 2, name="b"), at=2_000, sequence=9, flags=CLEARED)
    found = placed(opened(tmp_path, said, packet(event(3, 2, name="a"), at=500), other))
    assert found["trainer/main"] == [("a", 1_100, 0), ("b", 2_000, 0)]


def test_writers_may_start_over_by_a_field_of_its_own(tmp_path: Path) -> None:
    def named(text: str) -> bytes:
        return packet(interned((2, 1, text)), wire.number(41, 1))

    found = placed(
        opened(
            tmp_path,
            named("early"),
            packet(event(3, 2, number=1), at=1, flags=NEEDS),
            named("late"),
            packet(event(3, 2, number=1), at=2, flags=NEEDS),
        )
    )
    assert found["trainer/main"] == [("early", 1, 0), ("late", 2, 0)]


def test_a_state_lasts_until_the_next_of_its_track(tmp_path: Path) -> None:
    def state(at: int, name: str = "", uuid: int = 9) -> bytes:
        return packet(event(5, uuid, name=name), at=at)

    found = placed(
        opened(
            tmp_path,
            track(9, "phase", 1),
            track(8, "mode", 1),
            state(10, "warm"),
            state(30, "run"),
            state(40),
            state(60, "run"),
            state(15, "fast", 8),
            packet(event(3, 2, name="end"), at=100),
        )
    )
    assert found["trainer/phase"] == [("warm", 10, 20), ("run", 30, 10), ("run", 60, 40)]
    assert found["trainer/mode"] == [("fast", 15, 85)]


def test_nothing_goes_missing_without_a_word(tmp_path: Path) -> None:
    """The kernel's events, kinds of later versions, times of early ones, packets that were lost."""
    space = opened(
        tmp_path,
        packet(event(3, 2, name="seen"), at=10),
        packet(wire.blob(1, wire.number(1, 0, always=True)), at=11),
        packet(event(9, 2, name="later"), at=12),
        packet(event(3, 2, wire.number(16, 13), name="early")),
        packet(event(3, 2, name="after"), wire.number(42, 1), at=14),
        packet(event(3, 2, name="first"), wire.number(42, 1), at=15, sequence=8),
    )
    assert [one["name"] for one in lines(space)[MAIN]] == ["seen", "after", "first"]
    said = " ".join(space.warnings)
    for part in (
        "1 packets or values hold what the kernel did",
        "1 packets or values are events of a kind",
        "1 packets or values have times in a form",
        "Writers lost packets 1 times",
    ):
        assert part in said
