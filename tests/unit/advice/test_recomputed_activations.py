"""recomputed-activations: what the backward pass computes again, of JAX's and of PyTorch's ops."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope.advice import RULES, advise
from stepscope.analysis.step_account import OwnerRow
from stepscope.result import Advice, Table
from stepscope.tables.in_steps.recomputed import Recomputed
from tests.unit.advice.test_growing_steps import OWNER
from tests.unit.advice.test_largest_part import account, op

TIMES = {
    "jit(step)/jvp(net)/dot_general": ("op", 5.0),
    "jit(step)/transpose(jvp(net))/checkpoint/dot_general": ("op", 2.0),
    "jit(step)/transpose(jvp(net))/checkpoint/rematted_computation/dot_general": ("op", 1.5),
    "jit(step)/transpose(jvp(net))/checkpoint/rematted_computation/tanh": ("op", 0.5),
    "ThunkExecutor": ("runtime", 1.0),
}


def told(times: dict[str, tuple[str, float]], **more: Any) -> Advice:
    """A step of 10 ms, 9 of it in a product."""
    product = op("dot_general", 9.0) | {"file": "net.py", "line": 8, "is_source": True}
    rows = [
        OWNER | {"kind": kind, "name": name, "time_ms": time, "family": name.rpartition("/")[2]}
        for name, (kind, time) in times.items()
    ]
    owners = Table(OwnerRow, {name: [row[name] for row in rows] for name in OWNER})
    wanted = ("recomputed-activations",) if more else ("recomputed-activations", "largest-part")
    results: Any = {"step_account": replace(account(product), owners=owners), **more}
    return advise(results, [rule for rule in RULES if rule.id in wanted])


def test_it_says_how_much_is_computed_again_before_the_model_itself() -> None:
    first, second = told(TIMES).findings
    assert (first.rule, second.rule) == ("recomputed-activations", "largest-part")
    assert first.place is not None and (first.place.file, first.place.line) == ("net.py", 8)
    # Of the runtime's 1 ms around 9 ms of ops, 2 ms have 2 ninths.
    assert first.saving_high_ms == pytest.approx(2.0 + 2 / 9)
    assert first.saving_low_ms == pytest.approx(0.3 * 2.0)
    assert first.severity == "info", "the memory may be needed"


def test_of_pytorch_the_account_of_the_host_says_it() -> None:
    """Its ops have the same names, whichever pass they are run for."""
    times = {"aten/mm:mm": ("op", 9.0), "aten/add:add": ("op", 1.0)}
    again = Recomputed(ms=2.0, ops="linear 80%, layer_norm 20%", first="aten/linear:linear")
    (first,) = told(times, host_activity=SimpleNamespace(recomputed=again)).findings
    assert first.rule == "recomputed-activations"
    assert first.saving_low_ms == pytest.approx(0.6)
    assert first.saving_high_ms == pytest.approx(2.0)
    (checked,) = [one for one in told(times).checked if one.rule == "recomputed-activations"]
    assert checked.outcome == "silent"
