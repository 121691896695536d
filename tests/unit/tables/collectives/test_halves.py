"""Collectives of a start and a done: one each, from the start's begin to the done's end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.formats.xspace import decode
from stepscope.pod.decoded import pod_of_profile
from stepscope.summary.build import summarise
from stepscope.tables.collectives.operations import collectives
from stepscope.tables.core.profile import Host, Profile
from tests.profiles.hlo import f32, instruction, metadata_plane, program
from tests.profiles.model import Kind, host, line, plane, space

US = 10**6
NAME, ID = "jit_step", 7
WHOLE, START, DONE = "", "-start", "-done"
# Text of each op by collective and part. Of the first the done's operand says what it finishes,
# of the second its number.
TEXTS = {
    (0, START): "%all-reduce-start.1 = f32[8] all-reduce-start(f32[8] %x)",
    (0, DONE): "%all-reduce-done.2 = f32[8] all-reduce-done(f32[8] %all-reduce-start.1)",
    (1, START): "all-reduce-start.2",
    (1, DONE): "all-reduce-done.2",
    (2, WHOLE): "%all-reduce.3 = f32[8] all-reduce(f32[8] %x)",
}
GAP_US, LONG_US = 5, 3


def name_of(text: str) -> str:
    return text.partition(" = ")[0].removeprefix("%")


def one_tpu(ran: list[tuple[int, str]]) -> Host:
    """A TPU without steps that ran these, 3 µs each, 5 µs apart."""
    events = [(TEXTS[one], GAP_US * at, LONG_US) for at, one in enumerate(ran)]
    kinds = {
        text: Kind(display_name=name_of(text), stats={"hlo_category": f"all-reduce{part}"})
        for (_, part), text in TEXTS.items()
    }
    tpu = plane("/device:TPU:0", line("XLA Ops", *events), kinds=kinds, id=1)
    return Host("rank0", decode(space(host(), tpu)))


def by_hand(ran: list[tuple[int, str]]) -> list[tuple[int, int, int]]:
    """Start, duration and exposed time in µs of each collective, by walking through the events."""
    both = {op for op in range(3) if {(op, START), (op, DONE)} <= set(ran)}
    found, started = [], dict[int, int]()
    for at, (op, part) in enumerate(ran):
        if op not in both:
            found.append((GAP_US * at, LONG_US, LONG_US))
        elif part == START:
            started[op] = at
        elif op in started:
            begin = started.pop(op)
            found.append((GAP_US * begin, GAP_US * (at - begin) + LONG_US, LONG_US))
    return sorted(found)


@given(st.lists(st.sampled_from(sorted(TEXTS)), min_size=1, max_size=12))
def test_halves_are_paired_as_by_hand(ran: list[tuple[int, str]]) -> None:
    found = summarise(one_tpu(ran)).meetings
    columns = (found[name] // US for name in ("start_ps", "duration_ps", "exposed_ps"))
    assert list(zip(*map(list, columns), strict=True)) == by_hand(ran)


STEPS, WORK_US, LATE_US, BESIDE_US, TRANSFER_US = 4, 1000.0, 300.0, 200.0, 250.0
STEP_US = WORK_US + LATE_US + 2 * (1 + TRANSFER_US)


def module() -> bytes:
    """Two all-reduces that are split, of which the numbers of the halves are crossed."""
    ops = [instruction("x", "parameter", f32(8), parameter_number=0)]
    for start, done in ((1, 2), (2, 1)):
        groups = [{"replica_ids": (0, 1, 2, 3)}]
        begun = f"all-reduce-start.{start}"
        ops.append(instruction(begun, "all-reduce-start", f32(8), "x", replica_groups=groups))
        ops.append(instruction(f"all-reduce-done.{done}", "all-reduce-done", f32(8), begun))
    return program(NAME, ops)


def tpu_of_four(rank: int, late: float, wait: float) -> Host:
    """Each step: work, then two all-reduces, each beside work that takes less than it."""
    events: list[tuple[str, float, float]] = []
    steps = []
    for step in range(STEPS):
        begin = at = STEP_US * step
        for name, length in (
            ("fusion.9", WORK_US + late),
            ("all-reduce-start.1", 1.0),
            ("fusion.8", BESIDE_US),
            ("all-reduce-done.2", TRANSFER_US - BESIDE_US + wait),
            ("all-reduce-start.2", 1.0),
            ("fusion.8", BESIDE_US),
            ("all-reduce-done.1", TRANSFER_US - BESIDE_US),
        ):
            events.append((name, at, length))
            at += length
        steps.append((str(step), begin, at - begin))
    kinds = {
        name: Kind(
            display_name=name,
            stats={
                "hlo_category": "loop fusion" if "fusion" in name else name.partition(".")[0],
                "program_id": ID,
            },
        )
        for name, _, _ in events
    }
    modules = [(f"{NAME}({ID})", start, length) for _, start, length in steps]
    lines = line("Steps", *steps), line("XLA Modules", *modules), line("XLA Ops", *events)
    tpu = plane("/device:TPU:0", *lines, kinds=kinds, id=1)
    return Host(f"rank{rank}", decode(space(host(), metadata_plane((NAME, ID, module())), tpu)))


def test_a_program_says_which_done_is_of_which_start() -> None:
    summary = summarise(tpu_of_four(0, late=0.0, wait=LATE_US))
    found = summary.meetings
    assert found["number"].tolist() == [0, 1] * STEPS
    assert (found["duration_ps"] // US).tolist() == [551, 251] * STEPS
    assert (found["exposed_ps"] // US).tolist() == [350, 50] * STEPS
    assert summary.communicators["ranks"].tolist() == [[0, 1, 2, 3]]
    assert not summary.communicators["is_guess"].any()


def test_who_starts_late_makes_the_others_wait_in_their_done() -> None:
    late = [LATE_US if rank == 1 else 0.0 for rank in range(4)]
    hosts = [tpu_of_four(rank, own, LATE_US - own) for rank, own in enumerate(late)]
    pod = pod_of_profile(Profile("job", tuple(hosts)))
    assert not isinstance(pod, str)
    first = next(pod.suspects.rows())
    assert first["name"] == "rank1"
    assert first["cost_ms"] == pytest.approx(LATE_US / 1e3, rel=0.05)


def test_halves_meet_once_and_a_done_waits_only_for_who_started_late() -> None:
    """Rank 1 starts late; until it does, its peers wait as far as they have nothing else to do."""
    late = [LATE_US if rank == 1 else 0.0 for rank in range(4)]
    hosts = [tpu_of_four(rank, own, LATE_US - own) for rank, own in enumerate(late)]
    found = collectives(Profile("job", tuple(hosts)))
    assert len(found.names) == 2 * STEPS
    assert len(found) == 4 * 4 * STEPS, "each half keeps its row"
    grouped = found.group >= 0
    assert np.bincount(found.group[grouped]).tolist() == [4] * 2 * STEPS
    assert not found.wait_ps[~grouped].any()
    # While its peers work beside the first collective, they do not wait yet.
    waits = np.bincount(found.host, found.wait_ps / US, minlength=4)
    begin = LATE_US - BESIDE_US - 1
    assert waits == pytest.approx([begin * STEPS, 0, begin * STEPS, begin * STEPS])
    lag = found.arrival_ps - found.start_ps
    assert (lag[grouped] <= -BESIDE_US * US).all() and not lag[~grouped].any()
