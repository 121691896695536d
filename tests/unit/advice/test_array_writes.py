"""Rows written into JAX's arrays by calls of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stepscope.advice import RULES
from stepscope.advice.results import Results
from stepscope.analysis.host_activity import CallRow
from stepscope.analysis.step_account import OwnerRow
from stepscope.registry import Answer, Silence, Unknown
from stepscope.result import Finding, Table
from tests.unit.advice.test_growing_steps import OWNER
from tests.unit.advice.test_host_side import compiling
from tests.unit.advice.test_largest_part import account, part

RULE = next(rule for rule in RULES if rule.id == "array-writes")


def said(
    *calls: tuple[str, float], framework: str = "JAX", by: str = "jax._IndexUpdateRef.set"
) -> Answer:
    """Of a program whose step makes these calls, each with its share of it."""
    results: dict[str, Any] = compiling("..X----.....X----...").results(
        "overview_page", "host_activity"
    )
    host, overview = results["host_activity"], results["overview_page"]
    (row,) = host.calls.records()
    rows = {name: [getattr(row, name)] * len(calls) for name in CallRow.__annotations__}
    rows |= {
        "function": [name for name, _frac in calls],
        "calls": [2.0] * len(calls),
        "time_ms": [frac * host.step_time_ms for _name, frac in calls],
    }
    results["host_activity"] = replace(host, calls=Table(CallRow, rows))
    environment = replace(overview.environment, framework=framework)
    results["overview_page"] = replace(overview, environment=environment)
    owner = OWNER | {
        "kind": "framework", "name": by, "function": "ReplayMemory.push",
        "file": "/work/replay.py", "line": 36,
    }  # fmt: skip
    owners = Table(OwnerRow, {name: [owner[name]] for name in OWNER})
    results["step_account"] = replace(account(part(kind="framework")), owners=owners)
    (one,) = RULE.check(Results(results))
    return one


def test_a_buffer_that_is_filled_row_by_row_is_copied_each_time() -> None:
    found = said(("scatter", 0.5), ("_update", 0.2))
    assert isinstance(found, Finding)
    assert found.place is not None and found.place.function == "ReplayMemory.push"


@pytest.mark.parametrize("name", ["scatter-add", "dynamic_update_slice", "_scatter"])
def test_whatever_jax_calls_it(name: str) -> None:
    assert isinstance(said((name, 0.3)), Finding)


@pytest.mark.parametrize(
    ("calls", "framework"),
    [
        ((("scatter", 0.05),), "JAX"),
        ((("scatter_points", 0.5),), "JAX"),  # a function of the program's
        ((("scatter", 0.5),), "TensorFlow"),
    ],
)
def test_else_nothing_is_found(calls: tuple[tuple[str, float], ...], framework: str) -> None:
    assert isinstance(said(*calls, framework=framework), Silence)


def test_a_function_of_the_programs_by_such_a_name_writes_nothing_by_itself() -> None:
    assert isinstance(said(("scatter", 0.5), by="jax.jit"), Silence)


def test_without_calls_it_cannot_tell() -> None:
    assert isinstance(said(), Unknown)
