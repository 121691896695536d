"""Messages between two ranks, and between slices: who sent what to whom, and who waited for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stepscope.formats.xspace import decode
from stepscope.pod.intake import gathered
from stepscope.pod.meetings import Meetings, join
from stepscope.summary.build import summarise
from stepscope.summary.summary import Summary
from stepscope.tables.core.profile import Host
from stepscope.tables.steps.attribution import PARTS
from tests.profiles.dcn import Collective, slices
from tests.profiles.model import line, space
from tests.profiles.summaries import frame
from tests.unit.summary.traces import host_of

US = 10**6
PART_COLUMNS = {f"{part}_ps" for part in PARTS}
STEP_US, STEPS = 10_000, 3


def stage(rank: int, late_us: int = 0) -> Summary:
    """A stage of a pipeline of three: receives, computes, sends on; recorders number all of it."""
    events: list[dict[str, Any]] = []
    number = 5 * rank

    def add(name: str, category: str, start: int, length: int, **args: object) -> None:
        track = {"pid": 1, "tid": 1} if category != "kernel" else {"pid": 0, "tid": 7}
        times = {"ts": 1e9 + start, "dur": length}
        events.append({"ph": "X", "cat": category, "name": name, "args": args, **track, **times})

    def message(said: str, peer: int, start: int, end: int) -> None:
        nonlocal number
        number += 1
        group = {"Process Group Name": "3", "Process Group Description": "mesh_pp"}
        ranks = {"Process Group Ranks": "[0, 1, 2]", "Group size": 3, "Seq": number}
        side = {"Dst Rank" if said == "send" else "Src Rank": peer, "Collective name": said}
        where = {"device": 0, "stream": 7, "correlation": 1}
        add(
            "ncclDevKernel_SendRecv",
            "kernel",
            start,
            end - start,
            **where,
            **group,
            **ranks,
            **side,
        )

    for step in range(STEPS):
        at = step * STEP_US
        add(f"ProfilerStep#{step}", "user_annotation", at, STEP_US)
        sent = [2000 + late_us, 5000 + late_us]
        if rank:
            message("recv", rank - 1, at + 100, at + sent[rank - 1] + 50)
        begin = at + (sent[rank - 1] + 60 if rank else 100)
        end = at + (sent[rank] if rank < 2 else 9000)
        add("gemm", "kernel", begin, end - begin, device=0, stream=7, correlation=2)
        if rank < 2:
            message("send", rank + 1, end, end + 50)
    told = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 3}}
    return summarise(host_of(told | {"traceEvents": events}, f"rank{rank}"))


def joined(*many: Summary) -> Meetings:
    return join(gathered(many))


def test_a_message_is_of_a_pair_and_a_direction() -> None:
    keys = [stage(rank).communicators["key"].tolist() for rank in range(3)]
    assert keys == [
        ["3/send_recv/0>1"],
        ["3/send_recv/0>1", "3/send_recv/1>2"],
        ["3/send_recv/1>2"],
    ]


def test_messages_meet_whatever_number_each_side_gave_them() -> None:
    found = joined(*map(stage, range(3)))
    assert found.size.tolist() == [2] * 2 * STEPS
    assert found.tells.all()
    # The receiver waits for the sender, which waits for nobody.
    waits = found.wait_ps(slice(None)) // US
    assert waits[found.unit == 0].tolist() == [0] * STEPS
    assert waits[found.unit == 2].tolist() == [4900] * STEPS
    assert joined(*map(stage, range(3))).transfer_ps.tolist() == [50 * US] * 2 * STEPS


def test_a_late_stage_makes_the_next_one_wait() -> None:
    usual, late = (joined(stage(0, us), stage(1, us)) for us in (0, 700))
    more = late.wait_ps(slice(None)).sum() - usual.wait_ps(slice(None)).sum()
    assert more == 700 * US * STEPS


def slice_of(name: str, received_at_us: int) -> Summary:
    gradients = Collective("all-reduce.1", 1)
    waits = received_at_us - 50
    run = [
        ("multiply.9", 0, 8),
        ("send.1", 10, 4),
        ("send-done.1", 20, 3),
        ("recv-done.1", 50, waits),
    ]
    *others, device = slices(gradients, run=run)
    steps = line("Steps", ("0", 0, 100), ("1", 100, 50))
    planes = *others, replace(device, lines=(steps, *device.lines))
    return summarise(Host(name, decode(space(*planes))))


def test_waiting_for_a_slice_is_neither_input_nor_work() -> None:
    found = slice_of("h0", 80)
    first = frame(found.steps).row(0, named=True)
    assert first["collectives_ps"] // US == 30
    assert first["input_ps"] == 0
    assert sum(value for name, value in first.items() if name in PART_COLUMNS) // US == 100
    assert [op.partition(" =")[0] for op in found.ops["op"].tolist()] == ["%multiply.9"]


def test_slices_that_exchange_are_a_collective() -> None:
    found = slice_of("h0", 80)
    (one,) = frame(found.communicators).to_dicts()
    assert one["kind"] == "all_reduce"
    assert one["label"] == "all-reduce.1"
    assert one["is_guess"]
    (row,) = frame(found.meetings).to_dicts()
    assert (row["duration_ps"] // US, row["exposed_ps"] // US) == (70, 30)


def test_the_slice_that_comes_last_is_waited_for() -> None:
    found = joined(slice_of("h0", 80), slice_of("h1", 62))
    assert found.size.tolist() == [2]
    assert (found.wait_ps(np.arange(2)) // US).tolist() == [18, 0]
