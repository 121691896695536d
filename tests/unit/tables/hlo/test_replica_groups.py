"""Who meets in a collective that XLA compiled, by each way in which a program says it."""

from __future__ import annotations

from typing import Any

import pytest

from stepscope.tables.hlo.module import parse_module
from stepscope.tables.hlo.replica_groups import HloCollective, collectives_of, computes_the_same
from tests.profiles.hlo import f32, instruction, program

WHOLE, DIVIDED = {"type": 0}, {"type": 3}


def told(opcode: str, *, devices: tuple[int, int] = (0, 0), **fields: Any) -> HloCollective:
    ops = [
        instruction("x", "parameter", f32(8), parameter_number=0),
        instruction("it", opcode, f32(8), "x", **fields),
    ]
    module = parse_module(program("f", ops, devices=devices))
    assert module is not None
    return collectives_of(module)["it"]


def groups(*members: tuple[int, ...]) -> list[dict[str, tuple[int, ...]]]:
    return [{"replica_ids": one} for one in members]


def iota(count: int, size: int, dims: list[int], permutation: tuple[int, ...] = ()) -> Any:
    said = {
        "num_replica_groups": count,
        "num_devices_per_group": size,
        "iota_reshape_dims": dims,
        "iota_transpose_perm": permutation,
    }
    return {"iota_replica_group_list": said}


@pytest.mark.parametrize(
    "fields",
    [
        {"replica_groups": groups((0, 2), (1, 3))},
        {"collective_device_list": {"replica_groups": groups((0, 2), (1, 3))}},
        # [2,2]<=[2,2]T(1,0): 0 1 / 2 3, transposed.
        {"collective_device_list": iota(2, 2, [2, 2], (1, 0))},
    ],
    ids=["written out", "in a list", "a range"],
)
def test_groups_are_read_however_they_are_written(fields: dict[str, Any]) -> None:
    found = told("all-reduce", channel_id=7, use_global_device_ids=1, **fields)
    assert found.groups == ((0, 2), (1, 3))
    assert (found.channel, found.devices) == (7, 4)


def test_what_ids_stand_for_follows_from_channel_and_global_ids() -> None:
    """Two replicas of three partitions: device = 3 × replica + partition."""
    both: Any = {"devices": (2, 3), "replica_groups": groups((0, 1))}
    by_partition = told("all-reduce", **both)
    assert by_partition.groups == ((0, 3), (1, 4), (2, 5))
    assert told("all-reduce", channel_id=1, **both).groups == ((0, 1, 2, 3, 4, 5),)
    assert told("all-reduce", channel_id=1, use_global_device_ids=1, **both).groups == ((0, 1),)
    of_partitions = told("all-to-all", channel_id=1, **both)
    assert of_partitions.groups == ((0, 1), (3, 4))


def test_pairs_of_a_permute_are_who_passes_data_on_to_whom() -> None:
    pairs = [{"source": a, "target": b} for a, b in [(0, 1), (1, 0), (4, 5), (5, 6), (2, 2)]]
    assert told("collective-permute", source_target_pairs=pairs).groups == ((0, 1), (4, 5, 6))


def test_no_groups_are_all_devices() -> None:
    found = told("all-reduce")
    assert (found.groups, found.devices, found.channel) == ((), 0, 0)


def test_what_starts_finishes_or_wraps_a_collective_has_its_groups() -> None:
    said: Any = {"replica_groups": groups((0, 1))}
    ops = [
        instruction("x", "parameter", f32(8), parameter_number=0),
        instruction("all-reduce-start.1", "all-reduce-start", f32(8), "x", **said),
        instruction("all-reduce-done.1", "all-reduce-done", f32(8), "all-reduce-start.1"),
        instruction("async.2", "async-start", f32(8), "x", calls=("body",)),
        instruction("async.3", "async-done", f32(8), "async.2"),
    ]
    body = [
        instruction("y", "parameter", f32(8), parameter_number=0),
        instruction("reduce-scatter.9", "reduce-scatter", f32(8), "y", **said),
    ]
    module = parse_module(program("f", ops, bodies={"body": body}))
    assert module is not None
    found = collectives_of(module)
    assert found["all-reduce-done.1"] == found["all-reduce-start.1"]
    assert found["async.3"] == found["async.2"] == found["reduce-scatter.9"]
    assert {one.place for one in found.values()} == {0, 1}
    assert {one.of for one in found.values()} == {2}
    assert "x" not in found


@pytest.mark.parametrize(
    "listed",
    [
        iota(2, 2, [3, 2]),
        iota(2, 2, [2, 2], (0, 0)),
        iota(1 << 30, 1 << 30, [1 << 30, 1 << 30]),
        iota(0, 0, []),
        {"replica_groups": groups((1 << 40,))},
        {"replica_groups": groups((-1, 0))},
    ],
    ids=["another count", "no permutation", "too many", "nothing", "far", "negative"],
)
def test_damaged_groups_are_none(listed: Any) -> None:
    assert told("all-reduce", collective_device_list=listed).groups == ()


def count(*shardings: Any, opcode: str = "add", devices: tuple[int, int] = (1, 4)) -> int:
    """Of a program whose parameters have these shardings (None: not said)."""
    given = [
        instruction(f"p{number}", "parameter", f32(8), parameter_number=number)
        if said is None
        else instruction(f"p{number}", "parameter", f32(8), parameter_number=number, sharding=said)
        for number, said in enumerate(shardings)
    ]
    end = instruction("end", opcode, f32(8), *(one.name for one in given))
    module = parse_module(program("jit_step", [*given, end], devices=devices))
    assert module is not None
    return computes_the_same(module)


def test_what_is_given_whole_to_each_of_several_devices_is_computed_by_each() -> None:
    assert count(WHOLE, WHOLE) == 4


@pytest.mark.parametrize(
    ("shardings", "changes"),
    [
        ((WHOLE, DIVIDED), {}),
        ((WHOLE, None), {}),
        ((), {}),
        ((WHOLE, WHOLE), {"opcode": "all-reduce"}),
        ((WHOLE, WHOLE), {"devices": (1, 1)}),
        ((WHOLE, WHOLE), {"devices": (4, 1)}),
    ],
    ids=["divided", "not said", "nothing given", "exchanged", "one device", "replicas"],
)
def test_else_nothing_is_said(shardings: tuple[Any, ...], changes: dict[str, Any]) -> None:
    assert count(*shardings, **changes) == 0
