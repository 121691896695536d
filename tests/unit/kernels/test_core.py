"""The kernels as machine code and as plain Python are the same program."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stepscope
from stepscope.kernels.core import compiled
from tests.profiles import host, line, ref, space, u

PROGRAM = """
import pickle, sys
import numpy as np
from stepscope.columns import nest, stats_by_name, sweep
from stepscope.formats.xspace import decode
from stepscope.formats.xspace.encode import encode
from stepscope.kernels.core import compiled
from stepscope.columns import distinct_keys, look_up, rows_of, sum_by_key, sum_labels, union_spans
space = decode(sys.stdin.buffer.read())
events = space.events
nesting = nest(events.start_ps, events.duration_ps, space.line_begin)
steps = np.array([0, 10**7]), np.array([10**7, 10**9])
ends = events.start_ps + events.duration_ps
times = sweep(events.start_ps, ends, events.metadata % 64, *steps)
columns = stats_by_name(space, ["n", "s"])
key, row = events.metadata % 4, np.arange(len(events))
sums = sum_labels(key, events.duration_ps, nesting.self_ps, 4)
by_key = [
    rows_of(key, np.array([False, True, True])), *distinct_keys(key.astype(np.int64)),
    sum_by_key(key, events.duration_ps, 4), look_up(row[::2], ends[::2], row, -1),
    sums.count, sums.total_ps, sums.self_ps, sums.longest, *union_spans(events.start_ps, ends),
]
answer = [
    events.metadata, events.start_ps, events.duration_ps, events.data, events.stat_begin,
    space.event_stats.key, space.event_stats.kind, space.event_stats.value, *nesting, times,
    columns["n"].ints, columns["s"].texts.codes, *by_key,
]
rest = [encode(space), [(u.level, u.row, u.data) for u in space.unknown], str(space.damage)]
sys.stdout.buffer.write(pickle.dumps((compiled(), [a.tolist() for a in answer], rest)))
"""


def run(core: str, data: bytes, program: str = PROGRAM) -> tuple[bool, list[object], list[object]]:
    source = Path(stepscope.__file__).parents[1]
    environment = {**os.environ, "STEPSCOPE_CORE": core}
    paths = [str(source), *filter(None, [environment.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=data,
        capture_output=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    answer: tuple[bool, list[object], list[object]] = pickle.loads(done.stdout)
    return answer


def profiles() -> dict[str, bytes]:
    random = np.random.default_rng(2)
    events = [
        (
            f"e{i % 7}",
            float(random.integers(0, 500)),
            float(random.integers(0, 60)),
            {"n": int(random.integers(-9, 9)), "s": ref(f"v{i % 3}"), "u": u(2**64 - 1), "d": 1.5},
        )
        for i in range(300)
    ]
    sound = space(host(line("a", *events[:200]), line("b", *events[200:], timestamp_ns=77)))
    return {
        "sound": sound,
        "cut": sound[: len(sound) // 2],
        "flipped": sound[:999] + b"\xff" * 3 + sound[1002:],
    }


@pytest.mark.skipif(not compiled(), reason="the kernels of this installation are not compiled")
@pytest.mark.parametrize("kind", ["sound", "cut", "flipped"])
def test_both_cores_give_the_same_columns(kind: str) -> None:
    data = profiles()[kind]
    native, python = run("native", data), run("python", data)
    assert native[0] is True
    assert python[0] is False
    assert native[1:] == python[1:]


def test_an_unknown_core_is_refused() -> None:
    environment = {**os.environ, "STEPSCOPE_CORE": "fast"}
    done = subprocess.run(
        [sys.executable, "-c", "import stepscope.columns"],
        capture_output=True,
        env=environment,
        check=False,
    )
    assert done.returncode != 0
    assert b"STEPSCOPE_CORE" in done.stderr


def test_the_kernels_run_without_cython() -> None:
    """Cython is a build requirement; a plain installation does not have the module."""
    program = "import sys; sys.modules['cython'] = None; sys.modules['Cython'] = None\n" + PROGRAM
    data = profiles()["sound"]
    assert run("python", data, program)[1:] == run("", data)[1:]
