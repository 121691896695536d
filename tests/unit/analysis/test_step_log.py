"""The step log's answer: quantiles of steps that were put together, windows, what moved."""

from __future__ import annotations

import json
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.step_log import StepLog, step_log
from stepscope.errors import StepscopeError
from stepscope.formats.step_log import FORMATS
from stepscope.store.read import Pieces
from stepscope.tables.core.profile import Host, Profile

US_PER_MS = 1_000


def line(each: list[tuple[int, int]], first: int = 0, **changed: Any) -> bytes:
    """A chunk: how many steps each row holds, and their time in µs."""
    ends = np.cumsum([0, *(time for _, time in each)]).tolist()
    body = {
        "chunk": {"host": "h", "process": 1, "first": first, "begin_ns": 10**18, "memory": 1}
        | changed.pop("chunk", {}),
        "rows": {
            "steps": [count for count, _ in each],
            "begin_us": ends[:-1],
            "sum_us": [time for _, time in each],
            "max_us": [time for _, time in each],
            "wait_us": [0] * len(each),
        }
        | changed.pop("rows", {}),
        "values": changed.pop("values", {}),
    }
    text = json.dumps(body, separators=(",", ":"))[1:].encode()
    return b'{"stepscope_steps":1,"crc":"%08x",%s\n' % (zlib.crc32(text), text)


def told(*lines: bytes) -> StepLog:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.steps"
        path.write_bytes(b"".join(lines))
        space = FORMATS[0].open(Pieces(str(path)), "run.steps")
    return step_log(Profile("run", (Host("h", space),)))


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 99)), min_size=1, max_size=40))
def test_steps_put_together_count_as_often_as_they_ran(rows: list[tuple[int, int]]) -> None:
    """Against every step written out: the value at the middle, or beside it."""
    found = told(line([(count, count * each * US_PER_MS) for count, each in rows]))
    steps = sorted(np.repeat([each for _, each in rows], [count for count, _ in rows]).tolist())
    assert found.steps == len(steps)
    for value, frac in ((found.median_ms, 0.5), (found.p95_ms, 0.95)):
        assert np.quantile(steps, frac, method="lower") <= value + 1e-9
        assert value - 1e-9 <= np.quantile(steps, frac, method="higher")


def test_a_row_of_very_many_steps_costs_no_memory() -> None:
    found = told(line([(1 << 46, 1 << 46), (1, 1)]))
    assert found.steps == (1 << 46) + 1
    assert found.median_ms == pytest.approx(1e-3)


@pytest.mark.parametrize(
    "changed",
    [
        {"rows": {"steps": [1 << 80]}},
        {"rows": {"sum_us": [-5]}},
        {"rows": {"begin_us": [1 << 62]}},
        {"chunk": {"begin_ns": 1 << 63}},
        {"chunk": {"memory": -1}},
    ],
)
def test_impossible_numbers_are_no_chunk(changed: dict[str, Any]) -> None:
    found = told(line([(1, 10_000)]), line([(1, 20_000)], first=1, **changed))
    assert (found.steps, found.mean_ms) == (1, 10.0)


def test_values_of_very_many_names_are_bounded() -> None:
    """A column of floats per name and process would grow with their product."""
    rows = [line([(1, 1_000)], number, values={f"v{number}": [[0, 1.0]]}) for number in range(400)]
    found = told(*rows)
    given = ",".join(row.values for row in found.course.records()).replace(" ", "").split(",")
    assert found.steps == 400
    assert 8 <= len({*filter(None, given)}) <= 100


def test_a_log_without_a_chunk_is_refused() -> None:
    with pytest.raises(StepscopeError, match="without steps"):
        told(line([(1, 1_000)])[:-20])
