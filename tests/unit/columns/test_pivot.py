"""Stats by name."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stepscope.columns import event_stats, metadata_stats_by_name, plane_stats, stats_by_name
from stepscope.columns.space import KIND_REF
from stepscope.formats.xspace import decode
from tests.profiles import Kind, host, line, plane, ref, space, u
from tests.profiles.messages import XSpace

DATA = space(
    host(
        line(
            "a",
            ("x", 0, 1, {"n": 5, "mixed": "12"}),
            ("y", 1, 1, {"mixed": 7, "addr": u(2**63 + 5)}),
            ("y", 2, 1, {"mixed": ref("12")}),
        ),
        kinds={"y": Kind(stats={"flops": 10, "n": 1})},
        stats={"pid": 3, "blob": b"\x00\xff"},
    ),
    plane("q", line("b", ("z", 0, 1, {"mixed": 2.5, "n": -1}))),
)


def test_one_name_over_planes_and_kinds() -> None:
    found = stats_by_name(decode(DATA), ["mixed", "n", "absent", "addr"])
    mixed = found["mixed"]
    assert mixed.rows.tolist() == [0, 1, 2, 3]
    assert mixed.ints.tolist() == [12, 7, 12, 2]
    assert mixed.floats.tolist() == [12.0, 7.0, 12.0, 2.5]
    assert mixed.texts.texts() == ["12", "7", "12", "2.5"]
    assert len(mixed.texts.values) == 3
    assert mixed.is_number.tolist() == [False, True, False, True]
    assert found["n"].rows.tolist() == [0, 3]
    assert found["n"].ints.tolist() == [5, -1]
    assert len(found["absent"]) == 0
    assert found["absent"].texts.values == [] and found["absent"].ints.tolist() == []
    assert found["addr"].uints.tolist() == [2**63 + 5]
    assert found["addr"].floats.tolist() == [float(2**63 + 5)]


def test_many_stats_of_one_kind_say_what_few_do() -> None:
    """Where there are many, references take two bytes each and their kind takes none."""
    words = ["12", "seven", "2.5"]
    events = [("x", at, 1, {"s": ref(words[at % 3]), "n": at}) for at in range(70_000)]
    found = stats_by_name(decode(space(host(line("a", *events)))), ["s", "n"])
    many, numbers = found["s"], found["n"]
    assert many.raw.nbytes == 140_000
    assert many.kind.tolist() == [KIND_REF] * 70_000
    assert many.texts.texts() == [words[at % 3] for at in range(70_000)]
    assert many.ints.tolist()[:3] == [12, 0, 0] and many.floats.tolist()[2] == 2.5
    assert len(set(many.bits.tolist())) == 3 and many.bits.dtype == np.uint64
    assert numbers.ints.tolist() == list(range(70_000)) == numbers.bits.tolist()


def test_texts_that_are_no_numbers() -> None:
    data = space(host(line("a", ("x", 0, 1, {"s": "seven"}), ("x", 0, 1, {"s": "1e400"}))))
    found = stats_by_name(decode(data), ["s"])["s"]
    assert found.ints.tolist() == [0, 0]
    assert math.isnan(found.floats[0]) and found.floats[1] == math.inf


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2.9, 2), (-2.9, -2), (math.nan, 0), (1e300, 2**63 - 1), (-math.inf, -(2**63))],
)
def test_doubles_as_integers(value: float, expected: int) -> None:
    data = space(host(line("a", ("x", 0, 1, {"d": value}))))
    assert stats_by_name(decode(data), ["d"])["d"].ints.tolist() == [expected]


def test_shared_stats_come_first_and_give_way() -> None:
    found = decode(DATA)
    assert event_stats(found, 1) == [
        ("flops", 10),
        ("n", 1),
        ("mixed", 7),
        ("addr", 2**63 + 5),
    ]
    assert event_stats(found, 0) == [("n", 5), ("mixed", "12")]
    message = XSpace(hostnames=["h"])
    added = message.planes.add(name="p")
    added.stat_metadata[1].name = "n"
    added.event_metadata[1].stats.add(metadata_id=1, int64_value=1)
    added.lines.add(name="l").events.add(metadata_id=1).stats.add(metadata_id=1, int64_value=2)
    assert event_stats(decode(message.SerializeToString()), 0) == [("n", 2)]


def test_stats_of_planes_and_of_metadata() -> None:
    found = decode(DATA)
    assert plane_stats(found, 0) == {"pid": 3, "blob": b"\x00\xff"}
    assert plane_stats(found, 1) == {}
    flops = metadata_stats_by_name(found, ["flops"])["flops"]
    assert [found.event_metadata.name[row] for row in flops.rows.tolist()] == ["y"]
    assert flops.ints.tolist() == [10]


def test_a_stat_given_twice_is_listed_twice() -> None:
    message = XSpace(hostnames=["h"])
    added = message.planes.add(name="p")
    added.stat_metadata[1].name = "n"
    event = added.lines.add(name="l").events.add(metadata_id=1)
    event.stats.add(metadata_id=1, int64_value=1)
    event.stats.add(metadata_id=1, int64_value=2)
    column = stats_by_name(decode(message.SerializeToString()), ["n"])["n"]
    assert (column.rows.tolist(), column.ints.tolist()) == ([0, 0], [1, 2])
