"""Replica groups of XLA's programs as communicators: who meets whom on TPUs of two hosts."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.pod.decoded import pod_of_profile
from stepscope.pod.intake import gathered
from stepscope.pod.meetings import join
from stepscope.summary.build import summarise
from stepscope.tables.collectives.identity import Communicator
from stepscope.tables.collectives.operations import collectives
from stepscope.tables.core.profile import Host, Profile
from tests.profiles.hlo import f32, instruction, metadata_plane, program
from tests.profiles.model import Kind, Plane, host, line, plane, space

NAME, ID = "jit_step", 7
# Of four devices: neighbours, those two apart, all.
GROUPS = {
    "all-reduce.1": [(0, 1), (2, 3)],
    "all-reduce.2": [(0, 2), (1, 3)],
    "all-gather.3": [],
}
STEPS, LATE_US = 4, 300.0


def module() -> bytes:
    ops = [instruction("x", "parameter", f32(8), parameter_number=0)]
    for name, groups in GROUPS.items():
        said = [{"replica_ids": group} for group in groups]
        opcode = name.partition(".")[0]
        ops.append(instruction(name, opcode, f32(8), "x", replica_groups=said))
    return program(NAME, ops)


def tpu(number: int, late: float) -> Plane:
    """Each step a product and three collectives of 50 µs; who is not late waits for who is."""
    events, modules, steps = [], [], []
    for step in range(STEPS):
        at = (1000 + LATE_US + 50 * len(GROUPS)) * step
        # Device 3 is late for its pair, so its pair is late for the others, and all for all.
        waits = {"all-reduce.1": number == 2, "all-reduce.2": number < 2, "all-gather.3": False}
        events.append(("%fusion.9 = f32[8] fusion()", at, 1000 + late))
        now = at + 1000 + late
        for name in GROUPS:
            length = 50 + LATE_US * waits[name]
            events.append((f"%{name} = f32[8] {name.partition('.')[0]}()", now, length))
            now += length
        modules.append((f"{NAME}({ID})", at, now - at))
        steps.append((str(step), at, now - at))
    kinds = {"%fusion.9 = f32[8] fusion()": kind("fusion.9", "loop fusion")}
    for name in GROUPS:
        opcode = name.partition(".")[0]
        kinds[f"%{name} = f32[8] {opcode}()"] = kind(name, opcode)
    lines = line("Steps", *steps), line("XLA Modules", *modules), line("XLA Ops", *events)
    return plane(f"/device:TPU:{number % 2}", *lines, kinds=kinds, id=number % 2 + 1)


def kind(name: str, category: str) -> Kind:
    return Kind(display_name=name, stats={"hlo_category": category, "program_id": ID})


def recording(names: tuple[str, str] = ("rank0", "rank1")) -> Profile:
    """Two hosts of two TPUs; the last of the four is late in every step."""
    hosts = []
    for place, name in enumerate(names):
        numbers = (2 * place, 2 * place + 1)
        planes = [tpu(number, LATE_US if number == 3 else 0.0) for number in numbers]
        data = space(host(), metadata_plane((NAME, ID, module())), *planes)
        hosts.append(Host(name, decode(data)))
    return Profile("job", tuple(hosts))


def told(profile: Profile) -> list[Communicator]:
    from stepscope.tables.collectives.operations import _all_replica_groups

    return _all_replica_groups(profile)


def test_a_device_meets_those_of_its_replica_group() -> None:
    found = {(one.kind, one.ranks) for one in told(recording())}
    assert found == {
        ("all_reduce", (0, 1)),
        ("all_reduce", (2, 3)),
        ("all_reduce", (0, 2)),
        ("all_reduce", (1, 3)),
        ("all_gather", ()),
    }


def test_meetings_of_a_pod_are_those_groups_and_nothing_is_a_guess() -> None:
    whole = gathered([summarise(one) for one in recording().hosts])
    assert not whole.guessed
    found = join(whole)
    members: dict[int, set[int]] = {}
    for row in range(len(found)):
        members.setdefault(int(found.node[row]), set()).add(int(found.unit[row]))
    pairs = [{0, 1}, {2, 3}, {0, 2}, {1, 3}, {0, 1, 2, 3}]
    met = [frozenset(one) for one in members.values()]
    assert sorted(map(sorted, met)) == sorted(map(sorted, pairs * STEPS))


def test_only_the_late_device_is_named() -> None:
    pod = pod_of_profile(recording())
    assert not isinstance(pod, str)
    first = next(pod.suspects.rows())
    assert first["name"] == "TPU:1 of rank1"
    assert first["cost_ms"] == pytest.approx(LATE_US / 1e3, rel=0.05)


def test_workers_meet_in_their_groups_too() -> None:
    found = collectives(recording())
    assert found.mismatched == 0
    sizes = sorted(int((found.group == one).sum()) for one in set(found.group.tolist()))
    assert sizes == [2] * 4 * STEPS + [4] * STEPS


def test_without_ranks_which_group_a_host_is_in_is_a_guess_and_said() -> None:
    profile = recording(("tpu-a", "tpu-b"))
    assert {one.kind for one in told(profile)} == {"all_gather"}
    pod = pod_of_profile(profile)
    assert not isinstance(pod, str)
    assert any("guess" in one.message or "taken" in one.message for one in pod.diagnostics)
