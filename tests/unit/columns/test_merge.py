"""Planes of one name become one: nothing but repetition is lost."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.columns import event_stats, plane_stats
from stepscope.columns.merge import merged
from stepscope.columns.space import Space
from stepscope.formats.xspace import decode
from stepscope.formats.xspace.encode import encode
from tests.profiles import Kind, gpu, host, line, plane, ref, space, stream
from tests.profiles.messages import XSpace

SECOND = {"step_num": 1, "who": ref("b")}
CHUNKS = [
    space(
        host(
            line("python", ("train", 0, 10, {"step_num": 0, "who": ref("a")}), ("op", 2, 3), id=7),
            line("worker", ("read", 1, 1), id=8),
            stats={"cpu_isa": "avx2"},
        ),
        gpu(0, stream(3, ("sgemm", 4, 2, {"correlation_id": 1}))),
    ),
    space(
        # The same ids as above, with other meanings: google.protobuf numbers by first use.
        host(
            line(
                "python", ("op", 20, 3), ("train", 30, 10, {"step_num": 1, "who": ref("b")}), id=7
            ),
            stats={"cpu_isa": "avx512"},
        ),
        gpu(0, stream(3, ("sgemm", 40, 2, {"correlation_id": 2}), ("relu", 44, 1))),
    ),
]


def told(space: Space) -> list[tuple[object, ...]]:
    """Every event in words, independent of ids and of the order of planes and lines."""
    events, names = space.events, space.event_metadata.name
    return sorted(
        (
            space.planes[space.lines[line].plane].name,
            space.lines[line].name,
            space.origin_ns * 1000 + int(events.start_ps[row]),
            int(events.duration_ps[row]),
            names[int(events.metadata[row])],
            tuple(event_stats(space, row)),
        )
        for row, line in enumerate(space.event_line.tolist())
    )


def test_a_space_without_repeated_planes_stays_the_very_same() -> None:
    whole = decode(CHUNKS[0])
    assert merged(whole) is whole


def test_two_chunks_become_one_plane_a_name_and_one_line_a_thread() -> None:
    whole = merged(decode(b"".join(CHUNKS)))
    assert [plane.name for plane in whole.planes] == ["/host:CPU", "/device:GPU:0"]
    assert [(line.name, line.end - line.begin) for line in whole.lines] == [
        ("python", 4),
        ("worker", 1),
        ("Stream #3(Compute)", 3),
    ]
    assert sorted(whole.event_metadata.name) == ["op", "read", "relu", "sgemm", "train"]


def test_every_event_keeps_its_name_time_and_values() -> None:
    before = decode(b"".join(CHUNKS))
    after = merged(before)
    assert told(after) == told(before)
    assert told(decode(encode(after))) == told(before)
    steps = [values for *_, name, values in told(after) if name == "train"]
    assert steps == [(("step_num", 0), ("who", "a")), (("step_num", 1), ("who", "b"))]


def test_of_two_values_of_a_plane_the_last_counts() -> None:
    whole = merged(decode(b"".join(CHUNKS)))
    assert plane_stats(whole, 0) == {"cpu_isa": "avx512"}


def test_what_a_plane_says_several_times_stays_said() -> None:
    """CUPTI's ``nan_counter_events`` stand once for each counter."""
    proto = XSpace.FromString(space(gpu(0, stats={"left_out": "a"}), gpu(0, stats={"other": 1})))
    proto.planes[0].stats.add().CopyFrom(proto.planes[0].stats[0])
    proto.planes[0].stats[1].str_value = "b"
    whole = merged(decode(proto.SerializeToString()))
    assert len(whole.planes) == 1
    assert whole.plane_stats.key.tolist().count(whole.stat_metadata.name.index("left_out")) == 2


def test_ids_are_unique_within_a_plane() -> None:
    whole = merged(decode(b"".join(CHUNKS)))
    for table in (whole.event_metadata, whole.stat_metadata):
        pairs = list(zip(table.plane.tolist(), table.id.tolist(), strict=True))
        assert len(set(pairs)) == len(pairs)


def test_the_highest_of_all_ids_can_be_given_twice() -> None:
    highest = 2**63 - 1
    proto = XSpace.FromString(b"".join(space(host(line("t", (name, 0, 1)))) for name in "ab"))
    for one in proto.planes:
        ((id_, entry),) = one.event_metadata.items()
        entry.id = highest
        one.event_metadata[highest].CopyFrom(entry)
        del one.event_metadata[id_]
        one.lines[0].events[0].metadata_id = highest
    whole = merged(decode(proto.SerializeToString()))
    assert whole.event_metadata.id.tolist() == [highest, 1]
    assert [name for *_, name, _values in told(whole)] == ["a", "b"]


def test_events_of_two_recorders_on_one_thread_are_put_in_order_of_time() -> None:
    first = host(line("python", ("outer", 0, 100), ("late", 50, 5), id=1))
    second = host(line("python", ("inner", 10, 20), id=1))
    whole = merged(decode(space(first) + space(second)))
    assert whole.events.start_ps.tolist() == [0, 10_000_000, 50_000_000]
    assert np.diff(whole.events.start_ps).min() >= 0


def test_programs_keep_their_ids_and_their_protos_are_kept_once() -> None:
    def program(name: str, proto: bytes) -> bytes:
        return space(
            plane("/host:metadata", line("x", (name, 0, 0)), kinds={name: Kind(metadata=proto)})
        )

    same = merged(decode(program("jit_step(1)", b"hlo") * 2))
    assert same.event_metadata.name == ["jit_step(1)"]
    assert same.event_metadata.metadata == {0: b"hlo"}
    other = merged(decode(program("jit_step(1)", b"hlo") + program("jit_eval(2)", b"two")))
    assert other.event_metadata.metadata == {0: b"hlo", 1: b"two"}


def test_a_torn_last_chunk_costs_itself_only() -> None:
    whole = merged(decode((b"".join(CHUNKS))[:-5]))
    assert whole.damage is not None
    names = [whole.event_metadata.name[row] for row in whole.events.metadata.tolist()]
    assert names.count("train") == 2


EVENTS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 50), st.integers(0, 9), st.integers(-2, 2)),
    max_size=5,
)


@given(st.lists(st.tuples(st.integers(1, 2), st.sampled_from(["x", "y"]), EVENTS), max_size=5))
def test_merging_loses_and_invents_nothing(parts: list[tuple[int, str, list[tuple]]]) -> None:  # type: ignore[type-arg]
    data = b"".join(
        space(
            plane(
                name,
                line(
                    "t", *((e, start, long, {"v": value}) for e, start, long, value in events), id=n
                ),
            )
        )
        for n, name, events in parts
    )
    if not data:
        return
    before = decode(data)
    assert told(merged(before)) == told(before)
