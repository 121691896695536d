"""The described profile is the profile that google.protobuf reads back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.profiles import (
    Event,
    Kind,
    environment,
    gpu,
    host,
    line,
    parse,
    plane,
    ref,
    space,
    stream,
    u,
)


def read_stats(owner: Any, plane: Any) -> dict[str, tuple[str, Any]]:
    """Stats by name as (member of the oneof, value); references are followed."""
    found = {}
    for stat in owner.stats:
        kind = stat.WhichOneof("value")
        value = getattr(stat, kind)
        name = plane.stat_metadata[stat.metadata_id].name
        found[name] = (kind, plane.stat_metadata[value].name if kind == "ref_value" else value)
    return found


def test_times_are_microseconds_and_names_become_metadata() -> None:
    parsed = parse(space(host(line("python", ("train", 0.5, 900), ("train", 1000, 1e-6)))))
    (only,) = parsed.planes
    first, second = only.lines[0].events
    assert only.name == "/host:CPU"
    assert (first.offset_ps, first.duration_ps) == (500_000, 900_000_000)
    assert (second.offset_ps, second.duration_ps) == (1_000_000_000, 1)
    assert first.metadata_id == second.metadata_id
    assert only.event_metadata[first.metadata_id].name == "train"


def test_every_type_of_stat_lands_in_its_own_member() -> None:
    stats = {
        "i": -5,
        "u": u(2**64 - 1),
        "d": 0.5,
        "s": "text",
        "r": ref("interned"),
        "b": b"\x00",
    }
    (only,) = parse(space(host(line("t", ("e", 0, 1, stats)), stats=stats))).planes
    expected = {
        "i": ("int64_value", -5),
        "u": ("uint64_value", 2**64 - 1),
        "d": ("double_value", 0.5),
        "s": ("str_value", "text"),
        "r": ("ref_value", "interned"),
        "b": ("bytes_value", b"\x00"),
    }
    assert read_stats(only.lines[0].events[0], only) == expected
    assert read_stats(only, only) == expected


def test_a_stat_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="key: a stat cannot be None"):
        space(host(line("t", ("e", 0, 1, {"key": None}))))


def test_lines_are_numbered_by_place_unless_told() -> None:
    parsed = parse(space(host(line("a"), line("b", id=-7), line("c")), gpu(1, stream(14))))
    assert [made.id for made in parsed.planes[0].lines] == [1, -7, 3]
    assert [(made.id, made.name) for made in parsed.planes[1].lines] == [
        (14, "Stream #14(Compute)")
    ]
    assert parsed.planes[1].name == "/device:GPU:1"
    assert read_stats(parsed.planes[1], parsed.planes[1])["core_count"] == ("int64_value", 108)


def test_kinds_add_to_the_metadata_of_their_events() -> None:
    kinds = {"fusion.1": Kind(display_name="fusion", stats={"flops": u(12)}, metadata=b"op")}
    (only,) = parse(
        space(plane("/device:TPU:0", line("XLA Ops", ("fusion.1", 0, 1)), kinds=kinds))
    ).planes
    entry = only.event_metadata[only.lines[0].events[0].metadata_id]
    assert (entry.name, entry.display_name, entry.metadata) == ("fusion.1", "fusion", b"op")
    assert read_stats(entry, only) == {"flops": ("uint64_value", 12)}


def test_an_aggregated_event_has_occurrences_and_no_start() -> None:
    (only,) = parse(space(host(line("t", Event("e", 0, 5, occurrences=3))))).planes
    made = only.lines[0].events[0]
    assert (made.WhichOneof("data"), made.num_occurrences) == ("num_occurrences", 3)
    assert made.duration_ps == 5_000_000


def test_the_space_carries_its_hosts_errors_and_facts() -> None:
    parsed = parse(space(environment(profile_start_time=u(9)), hostnames=("a", "b"), errors=["e"]))
    assert (list(parsed.hostnames), list(parsed.errors)) == (["a", "b"], ["e"])
    assert parsed.planes[0].name == "Task Environment"
