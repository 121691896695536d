"""Each quantity that several tools publish, as each of them publishes it.

``python -m tests.oracle.quantities`` prints quantity × surface × recording for the shared data:
where surfaces differ, under which base. The exit code is 1 if two differ under one base.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import stepscope
from stepscope.analysis.overview_page import OverviewPage
from stepscope.errors import StepscopeError
from stepscope.result import Result
from stepscope.session import Session
from stepscope.tables.steps.found import WINDOW

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
        "model_flops",
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
    if has_steps:
        yield from _parts(session, found)
    if session.profile.times_of == "step" and has_steps and overview.steps.source != WINDOW:
        yield from _counts(session, found)
    yield from _causes(found)
    yield from _op_times(found)
    yield from _kernels(session, found)
    yield from _rates(found)
    yield from _sql(session, overview)


def _parts(session: Session, found: dict[str, Any]) -> Iterator[Number]:
    """The parts of a step in the overview, the input page, the pod's and the step's account."""
    overview, told = found["overview_page"], {}
    told["overview_page"] = overview.breakdown_ms
    if "input_pipeline_analyzer" in found:
        told["input_pipeline_analyzer"] = found["input_pipeline_analyzer"].device_side.mean_ms
    for surface, parts in told.items():
        for part, value in parts.items():
            if all(part in each for each in told.values()):
                yield f"{part}, ms", surface, value, found[surface].times
    account = found.get("step_account")
    if account is None or len(overview.hosts) > 1:
        return
    for table in (account.parts, account.owners):
        sums = math.fsum(row["time_ms"] for row in table.rows())
        yield "step time, ms", f"{table.schema.__name__}s of step_account", sums, account.times
    if not account.has_events or account.has_device:
        return
    compiled = math.fsum(
        row["time_ms"] for row in account.owners.rows() if row["kind"] == "compile"
    )
    base = f"{account.times} The recorder's own work is apart." * (account.recorder_ms > 0)
    yield "compilation, ms", "step_account", compiled, base or account.times


def _counts(session: Session, found: dict[str, Any]) -> Iterator[Number]:
    """Steps, their statistics as a comparison has them, and what findings say of them."""
    overview, base = found["overview_page"], found["overview_page"].times
    stats = overview.steps
    kept = sum(row["kept"] for row in overview.step_table.rows())
    yield "steps", "table of overview_page", kept, base
    for tool in ("step_account", "device_idle", "input_pipeline_analyzer"):
        if tool in found:
            yield "steps", tool, found[tool].step_count, found[tool].times
    row = next(iter(stepscope.compare(session, session).runs.records()))
    for what, value, compared in (
        ("steps", stats.count, row.steps),
        ("step time, ms", stats.time_ms.mean, row.step_time_ms),
        ("median step, ms", stats.time_ms.median, row.median_ms),
    ):
        yield what, "overview_page", value, base
        yield what, "compare", compared, base
    account, idle = found.get("step_account"), found.get("device_idle")
    for finding in session.findings():
        named = finding.measured
        if account is not None and finding.rule == "largest-part":
            yield "step time, ms", "advise", float(named["step_time_ms"]), account.times
            keys = ("kind", "name", "function")
            same = [
                part["time_ms"]
                for part in account.parts.rows()
                if all(part[key] == named[key] for key in keys)
            ]
            if len(same) == 1:  # else several lines of one function have parts of one name
                yield f"part {named['name']}, ms", "advise", float(named["cost_ms"]), account.times
                yield f"part {named['name']}, ms", "step_account", same[0], account.times
        if idle is not None and finding.rule == "idle-device":
            yield "idle device, ms", "advise", float(named["idle_ms"]), idle.times
            yield "idle device, ms", "device_idle", idle.idle_ms, idle.times
        if finding.rule == "launch-bound":
            yield "kernel_launch, ms", "advise", float(named["kernel_launch_ms"]), base


def _kernels(session: Session, found: dict[str, Any]) -> Iterator[Number]:
    """Time and number of kernels, in all of the tables that have them."""
    one = found.get("kernel_stats")
    if one is None:
        return
    for table in (one.kernels, one.by_class, one.by_device):
        for what, column in (("kernels, µs", "total_duration_us"), ("kernels", "occurrences")):
            total = math.fsum(row[column] for row in table.rows())
            yield what, table.schema.__name__, total, one.times
    if session.profile.times_of == "recording":
        (row,) = session.sql("SELECT sum(duration_us) AS t, count(*) AS n FROM kernels").to_dicts()
        yield "kernels, µs", "SQL", row["t"], one.times
        yield "kernels", "SQL", row["n"], one.times


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


def _rates(found: dict[str, Any]) -> Iterator[Number]:
    """Rates of floating-point operations and of ops of XLA, and the limits of the devices."""
    overview, used = found["overview_page"], found.get("model_flops")
    roofline, hlo = found.get("roofline_model"), found.get("hlo_stats")
    if used is not None:
        # Utilisation is of steps in either base.
        if used.utilisation.steps and overview.times_of == "step" and len(overview.hosts) == 1:
            yield "step time, ms", "model_flops", used.utilisation.step_ms, overview.times
        for row in used.peaks.rows():
            what = f"peak of a device in {row['data_type']}, TFLOP/s"
            yield what, "model_flops", row["peak_tflops"], "data sheet"
    if roofline is None:
        return
    for row in roofline.flop_peaks.rows():
        what = f"peak of a device in {row['data_type']}, TFLOP/s"
        yield what, "roofline_model", row["flop_rate_gflops"] / 1e3, "data sheet"
    told = {
        (row["program"], row["operation"]): row
        for row in roofline.ops.rows()
        if row["step"] == "Total"
    }
    rates = {row["operation"]: row["flop_rate_gflops"] for row in told.values()}
    for row in overview.top_ops.rows():
        if row["flop_rate_gflops"] and rates.get(row["operation"]):
            what = f"GFLOP/s of {row['operation']}"
            yield what, "overview_page", row["flop_rate_gflops"], overview.times
            yield what, "roofline_model", rates[row["operation"]], roofline.times
    if hlo is None:
        return
    for row in hlo.ops.rows():
        own = told.get((row["program"], row["hlo_op"]))
        if own is None:
            continue
        for value in ("self_time_us", "occurrences", "flop_rate_gflops"):
            what = f"{value} of {row['hlo_op']} in {row['program']}"
            yield what, "hlo_stats", _number(row[value]), hlo.times
            yield what, "roofline_model", _number(own[value]), roofline.times


def _number(value: float | None) -> float:
    return math.nan if value is None else value


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


def table(told: list[Number]) -> list[str]:
    """Return a line for each quantity that two surfaces or more publish, with its bases."""
    by_quantity: dict[str, dict[str, dict[str, float]]] = {}
    for quantity, surface, value, base in told:
        if not math.isnan(value):
            by_quantity.setdefault(quantity, {}).setdefault(base, {})[surface] = value
    wrong = {line.partition(":")[0] for line in differing(told)}
    lines = []
    for quantity, bases in by_quantity.items():
        for base, values in bases.items():
            if len(values) < 2 and len(bases) < 2:
                continue
            state = "DIFFER" if f"{quantity} ({base})" in wrong else "equal"
            shown = ", ".join(f"{surface} {value:.5g}" for surface, value in values.items())
            lines.append(f"{quantity[:60]:<60} | {base:<24} | {state} | {shown}")
    return lines


def main() -> int:
    """Print the table, and count what is equal and what is not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", type=Path, nargs="*", help="recordings; the shared ones if none")
    parser.add_argument("--differing", action="store_true", help="only what differs")
    given = parser.parse_args()
    equal = unequal = 0
    for path in given.path or recordings():
        for base in ("step", "recording"):
            try:
                session = stepscope.open(path).per(base)
                lines = table(list(numbers(session, answers(session))))
            except StepscopeError as error:
                print(f"# {path.name}: {error}")
                break
            unequal += (count := sum("| DIFFER |" in line for line in lines))
            equal += len(lines) - count
            chosen = [line for line in lines if not given.differing or "| DIFFER |" in line]
            print(f"# {'/'.join(path.parts[-3:])} per {base}", *chosen, sep="\n", flush=True)
    print(f"{equal} equal, {unequal} differ under one base")
    return int(unequal > 0)


if __name__ == "__main__":
    sys.exit(main())
