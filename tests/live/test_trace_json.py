"""One program as XSpace and as the traces beside it: the same tables, but for what JSON lacks."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.result import tables_of
from stepscope.session import Session

pytestmark = pytest.mark.skipif(not find_spec("jax"), reason="needs JAX")
PROGRAM = """
import sys, jax, jax.numpy as jnp
compiled = jax.jit(lambda x: jnp.tanh(x @ x) + 1)
x = jnp.ones((200, 200))
compiled(x).block_until_ready()
with jax.profiler.trace(sys.argv[1], create_perfetto_trace=True):
    for number in range(5):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            compiled(x).block_until_ready()
"""
#: What follows from times and names alone. Programs are not in the JSON: nothing of HLO is here.
WHOLE = ("host_activity", "pod_viewer", "input_pipeline_analyzer")
TIMES = (
    "rank",
    "hlo_op",
    "occurrences",
    "total_time_us",
    "avg_time_us",
    "self_time_us",
    "self_time_frac",
    "cumulative_frac",
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("jax")
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    (found,) = folder.glob("plugins/profile/*")
    return found


def opened(folder: Path, pattern: str) -> Session:
    (path,) = folder.glob(pattern)
    return stepscope.open(path)


def rows(session: Session, tool: str) -> dict[str, list[dict[str, Any]]]:
    return {
        name: [without_host(row) for row in table.rows()]
        for name, table in tables_of(session.run(tool)).items()
    }


def without_host(row: dict[str, Any]) -> dict[str, Any]:
    """The row without what a file is called."""
    return {key: value for key, value in row.items() if key not in ("host", "worker")}


@pytest.mark.parametrize("trace", ["*.trace.json.gz", "perfetto_trace.json.gz"])
def test_tables_are_those_of_the_xspace(recorded: Path, trace: str) -> None:
    whole, told = opened(recorded, "*.xplane.pb"), opened(recorded, trace)
    assert len(rows(whole, "pod_viewer")["pod"]) == 5
    for tool in WHOLE:
        assert rows(told, tool) == rows(whole, tool), tool
    ops = [
        [{key: row[key] for key in TIMES} for row in rows(one, "hlo_stats")["ops"]]
        for one in (whole, told)
    ]
    assert ops[0] == ops[1]
    assert len(ops[0]) > 1
