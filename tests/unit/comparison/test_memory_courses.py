"""Memory of two runs over time, on one axis."""

from dataclasses import replace

import pytest

from stepscope.comparison import Comparison, compare, side_of
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles.loops import Kernel, Loop, record

GIB = 1 << 30
FLOAT32 = Loop(kernels=(Kernel("sgemm", 400),), steps=12, heap=(2 * GIB, 8 * GIB, 0.1))
FLOAT16 = replace(FLOAT32, kernels=(Kernel("hgemm", 200),), heap=(GIB, 8 * GIB, 0.1))


def compared(before: Loop, after: Loop) -> Comparison:
    sides = []
    for name, loop in (("float32", before), ("float16", after)):
        hosts = tuple(Host(host, decode(data)) for host, data in record(loop).items())
        sides.append(side_of(name, Profile(name, hosts)))
    return compare(sides)


def test_memory_of_both_runs_is_one_course_from_the_first_step_on() -> None:
    found = compared(FLOAT32, FLOAT16)
    rows = list(found.memory_course.records())
    times = [row.time_ms for row in rows]
    assert times == sorted(set(times))
    # At the begin of the first step, both hold half of it: the weights.
    start = [row for row in rows if row.time_ms <= 0.0][-1]
    assert start.baseline_bytes == pytest.approx(2 * start.candidate_bytes, rel=0.01)
    # Each peak of the runs' table is the top of a line.
    for column, peak in zip(
        ("baseline_bytes", "candidate_bytes"), found.runs["peak_memory_bytes"], strict=True
    ):
        assert max(row[column] for row in found.memory_course.rows() if row[column]) == peak


def test_a_shorter_run_ends_before_the_axis_does() -> None:
    found = compared(FLOAT32, replace(FLOAT16, steps=6))
    last = list(found.memory_course.rows())[-1]
    assert last["baseline_bytes"] > 0
    assert last["candidate_bytes"] is None


def test_peaks_are_a_sentence() -> None:
    found = compared(FLOAT32, FLOAT16)
    assert found.memory_text.startswith("Peak memory, GPU_0_bfc: 2.0")
    assert found.memory_text.endswith("%).")


def test_a_run_without_memory_has_no_course() -> None:
    found = compared(FLOAT32, replace(FLOAT16, heap=None))
    assert (len(found.memory_course), found.memory_text) == (0, "")
