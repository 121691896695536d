"""One quantity is one number: what several tools publish is equal, or its base is named.

Takes every recording that lies beside the repository, in both bases that times can be of.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepscope
from stepscope.analysis.overview_page import OverviewPage
from stepscope.errors import StepscopeError
from stepscope.result import Result
from stepscope.session import Session

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
_FOLDERS = ("xplane", "kineto", "nsight", "rocprof")
# A run is a folder of ranks, or one file.
_RANK_SETS = ("v100-dlrm-8rank", "before_qcomm", "after_qcomm")


def recordings() -> list[Path]:
    """Every recording of the shared data but the collection's, which are of one kind each."""
    found = []
    for folder in _FOLDERS:
        for file in sorted((SHARED / folder).rglob("*")):
            if "malformed" in file.parts or not file.is_file():
                continue
            if file.suffix in (".pb", ".gz", ".sqlite", ".json"):
                whole = file.parent if file.parent.name in _RANK_SETS else file
                found.append(whole)
    return list(dict.fromkeys(found))


def answers(session: Session) -> dict[str, Result]:
    """The answers of the tools that are compared, as far as the recording has something to show."""
    found = {}
    for tool in (
        "overview_page", "step_account", "framework_op_stats", "kernel_stats", "op_profile",
        "device_idle", "input_pipeline_analyzer", "pod_viewer", "roofline_model", "hlo_stats",
    ):  # fmt: skip
        if session.available(tool) is None:
            found[tool] = session.run(tool)
    return found


Number = tuple[str, str, float, str]  # quantity, surface, value, what its base is called


def numbers(session: Session, found: dict[str, Any]) -> Iterator[Number]:
    """Each quantity that more than one tool publishes."""
    overview: OverviewPage = found["overview_page"]
    has_steps = overview.steps.count > 0
    for tool in ("step_account", "device_idle", "pod_viewer"):
        if has_steps and tool in found:
            yield "step time, ms", tool, found[tool].step_time_ms, found[tool].times
    if has_steps and "input_pipeline_analyzer" in found:
        one = found["input_pipeline_analyzer"]
        kept = np.asarray(one.step_table["kept"], dtype=bool)
        mean = float(np.asarray(one.step_table["step_time_ms"])[kept].mean())
        yield "step time, ms", "input_pipeline_analyzer", mean, one.times
    yield "step time, ms", "overview_page", overview.steps.time_ms.mean, overview.times
    if has_steps:
        parts = sum(overview.breakdown_ms.values())
        yield "step time, ms", "parts of overview_page", parts, overview.times
    yield "idle devices, %", "overview_page", _percent(overview.device.idle_frac), overview.times
    for tool in ("device_idle", "op_profile"):
        if tool in found:
            idle = _percent(found[tool].idle_frac)
            yield "idle devices, %", tool, idle, found[tool].times
    account = found.get("step_account")
    if account is not None and account.has_device and len(overview.hosts) == 1:
        step, busy = overview.steps.time_ms.mean, overview.device.busy_frac or math.nan
        yield "busy device, ms", "overview_page", busy * step, overview.times
        yield "busy device, ms", "step_account", account.busy_ms, account.times
    yield from _causes(found)
    yield from _op_times(found)
    yield from _sql(session, overview)


def _causes(found: dict[str, Any]) -> Iterator[Number]:
    """Why the only device of a host is idle, and the parts of the step in which it is."""
    overview, idle = found["overview_page"], found.get("device_idle")
    if idle is None or len(idle.hosts) > 1 or len(idle.devices) > 1 or not overview.steps.count:
        return
    causes = {row["cause"]: row["idle_ms"] for row in idle.causes.rows()}
    told = {
        "kernel_launch": causes["kernel_launch"] + causes["allocation"],
        "compilation": causes["compilation"],
        # Input outranks collectives in a step, which a device is not idle in.
    }
    for part, value in told.items():
        yield f"{part}, ms", "overview_page", overview.breakdown_ms[part], overview.times
        yield f"{part}, ms", "device_idle", value, idle.times


def _percent(share: float | None) -> float:
    return math.nan if share is None else 100 * share


def _op_times(found: dict[str, Any]) -> Iterator[Number]:
    overview, table = found["overview_page"], found.get("framework_op_stats")
    if table is None:
        return
    times = {
        (row["host_or_device"], row["operation"], row["type"]): row for row in table.ops.rows()
    }
    for top in overview.top_ops.rows():
        key = top["host_or_device"], top["operation"], top["type"]
        row = times[key]
        for value in ("self_time_us", "occurrences"):
            what = f"{value} of {key[1]} ({key[0]})"
            yield what, "overview_page", top[value], overview.times
            yield what, "framework_op_stats", row[value], table.times


def _sql(session: Session, overview: OverviewPage) -> Iterator[Number]:
    """The table of steps names whether means count each of them."""
    if overview.steps.count == 0 or overview.times_of != "step" or len(session.hosts) > 1:
        return
    rows = session.sql("SELECT * FROM steps WHERE kept")
    for part, mean in overview.breakdown_ms.items():
        told = float(rows[f"{part}_ms"].to_numpy().mean())
        yield f"{part}, ms", "overview_page", mean, "steps that count"
        yield f"{part}, ms", "SQL", told, "steps that count"


def differing(told: list[Number]) -> list[str]:
    """Quantities of which two surfaces give two numbers under one base."""
    by_key: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for quantity, surface, value, base in told:
        if not math.isnan(value):
            by_key.setdefault((quantity, base), []).append((surface, value))
    return [
        f"{quantity} ({base}): {', '.join(f'{s} {v:.6g}' for s, v in listed)}"
        for (quantity, base), listed in by_key.items()
        if not np.allclose([v for _, v in listed], listed[0][1], rtol=1e-6, atol=1e-6)
    ]


@pytest.mark.skipif(not SHARED.exists(), reason="no recordings beside the repository")
@pytest.mark.parametrize("path", recordings(), ids=lambda path: "/".join(path.parts[-2:]))
@pytest.mark.parametrize("base", ["step", "recording"])
def test_a_quantity_is_one_number_on_every_page(path: Path, base: Any) -> None:
    try:
        session = stepscope.open(path).per(base)
    except StepscopeError:
        pytest.skip("no recording")
    told = list(numbers(session, answers(session)))
    assert told
    assert differing(told) == []
