"""Real programs whose steps become longer at a known step: found there, with what moved."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import stepscope
from stepscope.analysis.step_log import StepLog
from stepscope.pod.slow_ranks import slow_ranks
from stepscope.store.step_summaries import read_summaries

_SHIFT, _STEPS = 600, 1100
# Steps below 20 ms are put together by two or three, and ten of these are a block.
_NEAR: Final = 60

_LOOP: Final = f"""
import sys, time
import stepscope
stepscope.init(log=sys.argv[1])
SHIFT = {_SHIFT}
def loop(step, batches=range({_STEPS})):
    for number, _ in enumerate(stepscope.steps(batches)):
        time.sleep(0.008)
        step(number >= SHIFT, number)
"""
_SLOWER_SHARD: Final = """
def batches():
    for number in range(1100):
        time.sleep(0.001 if number < SHIFT else 0.008)
        yield number
loop(lambda is_late, number: None, batches())
"""
_LEAK: Final = """
held = []
def step(is_late, number):
    if is_late:
        held.append(b"x" * (1 << 19))
        time.sleep(0.006)
loop(step)
"""
_BUSY_CORES: Final = """
import os, subprocess
cores = os.cpu_count()
if hasattr(os, "sched_setaffinity"):  # one core: how many a machine has does not matter
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    cores = 1
spinning = "import time\\nwhile time.time() < %f: pass"
children = []
def step(is_late, number):
    if number == SHIFT:
        command = [sys.executable, "-S", "-c", spinning % (time.time() + 120)]
        children.extend(subprocess.Popen(command) for _ in range(8 * cores))
    used = time.process_time() + 0.004
    while time.process_time() < used:
        pass
loop(step)
for child in children:
    child.kill()
"""
_RECOMPILES: Final = """
import jax, jax.numpy as jnp
square = jax.jit(lambda x: x * x + 1)
def step(is_late, number):
    square(jnp.ones(number % 300 + 9 if is_late else 8)).block_until_ready()
    stepscope.note(compiled=square._cache_size())
loop(step)
"""
_SLOW_RANK: Final = """
import os
is_slow = os.environ["RANK"] == "1"
loop(lambda is_late, number: time.sleep(0.006 if is_late and is_slow else 0))
"""


def _run(folder: Path, source: str, **environment: str) -> subprocess.Popen[bytes]:
    (folder / "program.py").write_text(_LOOP + source)
    command = [sys.executable, "program.py", "run.steps"]
    return subprocess.Popen(command, cwd=folder, env={**os.environ, **environment})


def _logged(folder: Path, source: str) -> StepLog:
    assert _run(folder, source, RANK="").wait(300) == 0
    return stepscope.open(folder / "run.steps").step_log()


@pytest.mark.parametrize(
    ("source", "moved_with"),
    [(_SLOWER_SHARD, "input wait"), (_LEAK, "memory"), (_BUSY_CORES, "")],
    ids=["slower shard", "leak", "busy cores"],
)
def test_a_lasting_shift_is_found(tmp_path: Path, source: str, moved_with: str) -> None:
    found = list(_logged(tmp_path, source).changes.records())
    near = [one for one in found if abs(one.step - _SHIFT) <= _NEAR and one.delta_frac > 0.1]
    assert near, found
    assert moved_with in near[0].moved_with


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX")
def test_recompilation_moves_with_its_noted_count(tmp_path: Path) -> None:
    found = list(_logged(tmp_path, _RECOMPILES).changes.records())
    near = [one for one in found if abs(one.step - _SHIFT) <= _NEAR and one.delta_frac > 0.1]
    assert near and "compiled" in near[0].moved_with, found


def test_a_slow_rank_is_named_with_its_step(tmp_path: Path) -> None:
    ranks = [_run(tmp_path, _SLOW_RANK, RANK=str(rank), WORLD_SIZE="3") for rank in range(3)]
    assert [rank.wait(300) for rank in ranks] == [0, 0, 0]
    found = slow_ranks(read_summaries(tmp_path))
    first = next(iter(found.slow.records()))
    # A chunk has two seconds of steps: 200.
    assert (first.rank, first.sign) == ("1", "step"), found.headline
    assert abs(first.since_step - _SHIFT) <= 250
