"""Planes of several recorders in one file: one clock, names put back, facts added."""

from __future__ import annotations

import pytest

from stepscope.capture.file.assemble import Assembly, hostname
from stepscope.capture.file.event_count import count_events
from stepscope.capture.file.label_escaping import escaped
from stepscope.columns import event_stats, plane_stats
from stepscope.formats.xspace import decode
from stepscope.tables.core.planes import PlaneKind, plane_kind
from stepscope.wire.read import fields, whole_prefix
from tests.profiles import environment, host, line, plane, ref, space, u
from tests.profiles.messages import parse

ORIGIN_NS = 1_700_000_000_000_000_000


def framework(start_ns: int, *lines: object) -> bytes:
    """An XSpace as TensorFlow hands it out: lines count from the session's start."""
    return space(host(*lines), environment(profile_start_time=u(start_ns)))  # type: ignore[arg-type]


def assembled(*xspaces: bytes, suffix: str = "") -> bytes:
    planes = Assembly(ORIGIN_NS, suffix)
    for one in xspaces:
        planes.add(one)
    return b"".join([hostname("here"), *planes.pieces()])


def starts_ns(data: bytes) -> dict[str, float]:
    """When each event starts after the recording's origin, ns."""
    found = decode(data)
    return {
        found.event_metadata.name[metadata]: found.origin_ns + start / 1000
        for metadata, start in zip(
            found.events.metadata.tolist(), found.events.start_ps.tolist(), strict=True
        )
    }


def test_a_frameworks_relative_lines_are_moved_by_when_it_started() -> None:
    # The framework began 5000 ns after us, its line 1000 ns after that, its event 2 µs later.
    data = framework(ORIGIN_NS + 5000, line("python", ("op", 2, 1), timestamp_ns=1000))
    assert starts_ns(assembled(data)) == {"op": 8000}


def test_lines_on_the_wall_clock_are_counted_from_the_recordings_origin() -> None:
    data = space(plane("own", line("t", ("sample", 1, 0), timestamp_ns=ORIGIN_NS + 70)))
    assert starts_ns(assembled(data)) == {"sample": 1070}


def test_what_came_before_the_origin_stays_before_it() -> None:
    data = space(plane("own", line("t", ("early", 0, 0), timestamp_ns=ORIGIN_NS - 40)))
    assert starts_ns(assembled(data)) == {"early": -40}


def test_the_environment_of_a_framework_goes_and_its_events_stay() -> None:
    message = parse(assembled(framework(ORIGIN_NS, line("python", ("op", 0, 1)))))
    assert [plane.name for plane in message.planes] == ["/host:CPU"]
    assert list(message.hostnames) == ["here"]


def test_a_childs_planes_carry_its_number_and_are_still_what_they_are() -> None:
    data = framework(ORIGIN_NS, line("python", ("op", 0, 1)))
    (only,) = decode(assembled(data, suffix=" [77]")).planes
    assert only.name == "/host:CPU [77]"
    assert plane_kind(only.name) is PlaneKind.HOST
    assert plane_kind("/device:CUSTOM:Python samples [77]") is PlaneKind.PYTHON


def test_facts_join_a_plane_whose_own_ids_are_not_touched() -> None:
    planes = Assembly(ORIGIN_NS)
    planes.add(space(host(line("python", ("op", 0, 1, {"n": 3})), stats={"process_id": u(9)})))
    planes.add_stats("/host:CPU", {"cpu_isa": "avx2", "core_count": 4})
    planes.add_stats("Task Environment", {"profile_start_time": ORIGIN_NS})
    found = decode(b"".join(planes.pieces()), strict=True)
    assert plane_stats(found, 0) == {"process_id": 9, "cpu_isa": "avx2", "core_count": 4}
    assert plane_stats(found, 1) == {"profile_start_time": ORIGIN_NS}
    assert event_stats(found, 0) == [("n", 3)]


def test_bytes_that_are_no_xspace_are_refused() -> None:
    with pytest.raises(ValueError, match="cut short"):
        Assembly(ORIGIN_NS).add(space(host(line("python", ("op", 0, 1))), hostnames=())[:-3])


@pytest.mark.parametrize(
    "text", ["a,b", "x#y=z#", "(open", 'say "no, (never)"', "[{}]", "é中", "plain", "it's"]
)
def test_names_and_values_that_annotations_cannot_carry_come_back_as_they_were(text: str) -> None:
    hidden = escaped(text)
    assert not set(hidden) & set("#,=\"'()[]{}")
    data = framework(ORIGIN_NS, line("python", (hidden, 0, 1, {"who": hidden})))
    found = decode(assembled(data), strict=True)
    assert found.event_metadata.name == [text]
    # A recorder interns texts: the value is a name among the stats.
    data = framework(ORIGIN_NS, line("python", ("op", 0, 1, {"who": ref(hidden)})))
    assert event_stats(decode(assembled(data), strict=True), 0) == [("who", text)]


def test_events_are_counted_without_walking_them() -> None:
    names = ['"' * n for n in range(1, 40)]  # full of bytes that look like an event's tag
    lines = [
        line(
            f"t{n}",
            *((name, at, 34, {"v": 34 + at, '"': '"\\"' * n}) for at, name in enumerate(names)),
        )
        for n in range(8)
    ]
    data = space(host(*lines), plane("empty", line("none")))
    assert count_events(data) == 8 * 39
    assert count_events(b"") == 0


def test_events_longer_than_one_length_byte_are_counted() -> None:
    data = space(
        host(
            line(
                "t",
                *(
                    ("e", n, 1, {"text": "x" * size})
                    for n, size in enumerate([1, 127, 128, 300, 20_000, 5])
                ),
            )
        )
    )
    assert count_events(data) == 6


def test_a_torn_file_is_whole_up_to_its_last_whole_field() -> None:
    first, second = (space(plane(name, line("t", ("e", 0, 1))), hostnames=()) for name in "ab")
    torn = memoryview(first + second[:-1])
    assert whole_prefix(torn) == len(first)
    with pytest.raises(ValueError, match="cut short"):
        list(fields(torn))
