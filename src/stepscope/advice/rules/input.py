"""Rules about input that no condition expresses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.advice.evidence.copies import comes_from
from stepscope.advice.evidence.device_time import idle_ref
from stepscope.advice.evidence.threads import maker as maker_of
from stepscope.advice.evidence.threads import place as place_of_thread
from stepscope.advice.match import Case
from stepscope.advice.render import first_names, listed, not_recorded, silent, unknown
from stepscope.advice.signals import Facts, tf_data
from stepscope.registry import Answer, Unknown
from stepscope.result import Place, Ref
from stepscope.schema import names
from stepscope.tables.core.thresholds import (
    ACT_FRAC,
    ALARM_FRAC,
    DOZENS,
    FAIR_FRAC,
    FEW,
    HALF_FRAC,
    MANY,
    MOST_FRAC,
    SOME_FRAC,
    THIRD_FRAC,
    WHOLE_BATCH,
)

if TYPE_CHECKING:
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.analysis.step_account import AccountPart, StepAccount
    from stepscope.verdicts.other_threads import RivalRow

_LOADER: Final = "DataLoader"
# What dispatches a dataset's ops goes with them.
_WITH_DATASETS: Final = ("input", "compile", "framework", "unrecorded")
_DATASET_OP: Final = re.compile(r"(?:^|/)(\w+?)DatasetV?\d*$")


def input_bound(case: Case) -> Answer:
    """Fire when input costs 5 % of the step or more."""
    overview, step = case.overview_page, case.step_ms
    wait = overview.breakdown_ms["input"]
    waiting = wait + overview.breakdown_ms["host_to_device"]
    if waiting < SOME_FRAC * step:
        return _unseen(overview) or case.below(waiting)
    if wait < SOME_FRAC * step:
        return silent("copies_instead", cost_frac=wait / step)
    stages = case.optional.input_pipeline_analyzer
    ops = set[str]() if stages is None else {one.op for one in stages.input_ops.records()}
    of_workers = any(op.startswith(_LOADER) for op in ops) and names.LONELY_LOADER not in ops
    busy = None if stages is None else stages.worker_place
    if busy is not None and busy.busy_frac < FAIR_FRAC:
        busy = None
    cause = "input-bound"
    if _is_once(overview):
        cause = "late-once"
    elif busy is not None:
        cause = "slow-loader-worker"
    elif of_workers:
        cause = "workers-unseen"
    return case.match(
        cause,
        wait,
        place=None if busy is None else Place(busy.function, busy.file, busy.line),
        evidence=(Ref("overview_page", "breakdown_ms.input"), idle_ref("input")),
        input_wait_ms=wait,
        busy_frac=None if busy is None else busy.busy_frac,
        processes=None if busy is None else busy.processes,
    )


def _is_once(overview: OverviewPage) -> bool:
    """Return whether one of a few steps has nearly all of the waiting."""
    table = overview.step_table
    kept = np.asarray(table["kept"], dtype=np.bool_)
    waited = np.asarray(table["input_ms"], dtype=np.float64)[kept]
    is_most = float(waited.max(initial=0.0)) >= MOST_FRAC * float(waited.sum())
    return 1 < len(waited) < DOZENS and is_most


def _unseen(overview: OverviewPage) -> Unknown | None:
    """Return why a wait may be invisible: unexplained time is left in the step."""
    least = SOME_FRAC * overview.steps.time_ms.mean
    return not_recorded(overview, "input") if overview.breakdown_ms["other"] >= least else None


def restarted_pipeline(case: Case) -> Answer:
    """Fire when most steps create an iterator, and it costs 3 % of the step."""
    overview = case.overview_page
    found = case.input_pipeline_analyzer.restarts
    account = case.optional.step_account
    ops = case.input_pipeline_analyzer.input_ops["op"]
    loads = any(op.startswith(_LOADER) for op in ops)
    if found is None and not (account is not None and account.has_python) and loads:
        return unknown("no_python_calls")
    if found is None or not found.is_habit:
        return silent("iterators", count=0.0 if found is None else found.per_step)
    is_loader = found.kind == _LOADER
    most = overview.breakdown_ms["input"]
    if not is_loader and account is not None:
        most = sum(part.time_ms for part in account.part_list() if part.kind in _WITH_DATASETS)
    most = max(most, found.time_ms)
    # A call that begins a pipeline prepares more for its one batch: half of such work, or more.
    saving = found.time_ms if is_loader else (found.time_ms + most) / 2
    return case.match(
        "restarted-loader" if is_loader else "restarted-pipeline",
        saving,
        high_ms=most,
        evidence=(
            Ref("input_pipeline_analyzer", "restarts"),
            Ref("trace_viewer", "__iter__" if is_loader else "MakeIterator"),
        ),
        restarts_per_step=found.per_step,
        restart_ms=found.time_ms,
        stages=None if is_loader else _stages(account),
    )


def _stages(account: StepAccount | None) -> str | None:
    """Return the stages of the pipeline that each step creates."""
    rows = [] if account is None else list(account.owners.records())
    found = [
        name[1]
        for one in rows
        if one.kind in ("op", "framework") and (name := _DATASET_OP.search(one.name))
    ]
    return first_names(dict.fromkeys(found)) or None


def loader_workers(case: Case) -> Answer:
    """Fire when the step waits 3 % or more for a loader without workers."""
    overview, step = case.overview_page, case.step_ms
    waiting = overview.breakdown_ms["input"]
    loaders = {
        one.op: one.self_time_ms
        for one in case.input_pipeline_analyzer.input_ops.records()
        if one.op.startswith(_LOADER)
    }
    if not loaders:
        return unknown("no_loader")
    if names.LONELY_LOADER not in loaders:
        return silent("has_workers")
    restarts = case.input_pipeline_analyzer.restarts
    if restarts is not None and restarts.is_habit:
        return silent("restarts")
    # Of several loaders this one's share of the wait.
    saving = waiting * loaders[names.LONELY_LOADER] / max(sum(loaders.values()), 1e-9)
    account = case.optional.step_account
    maker = _maker(account)
    cores = overview.environment.host_cores
    wanted = max(round(saving / max(step - saving, 1e-9)) + 1, 2)
    is_pageable = comes_from(case.optional.device_idle) == "pageable"
    return case.match(
        "loader-workers-pageable" if is_pageable else "loader-workers",
        saving,
        # Two of them, on two cores, make two batches at a time.
        low_ms=MOST_FRAC * min(saving, step - saving / 2),
        high_ms=saving,
        place=None
        if maker is None
        else Place(maker.function, maker.file, maker.line, maker.caller),
        evidence=(Ref("overview_page", "breakdown_ms.input"), idle_ref("input")),
        input_wait_ms=saving,
        workers=min(wanted, max(cores, 2) if cores else MANY),
        ops=listed((part.op or part.name, part.step_frac) for part in _ops_of_batches(account)),
    )


def _ops_of_batches(account: StepAccount | None) -> list[AccountPart]:
    """Return the ops that make batches, where no line shows where; the largest first."""
    if account is None or account.has_python:
        return []
    ops = [one for one in account.part_list() if one.kind == "op" and one.step_frac >= ACT_FRAC]
    made = [one for one in ops if one.number("input_frac") >= HALF_FRAC]
    return sorted(made, key=lambda one: -one.time_ms)


def _maker(account: StepAccount | None) -> AccountPart | None:
    """Return the function of the program that has most of making batches; None unknown."""
    rows = () if account is None else account.part_list()
    made = [part for part in rows if part.function and part.file and part.line]
    inside = [part for part in made if part.number("input_frac") >= HALF_FRAC]
    most = max(inside, key=lambda part: part.time_ms, default=None)
    return most if most is not None and most.step_frac >= ACT_FRAC else None


def python_in_pipeline(case: Case) -> Answer:
    """Fire when the step waits 5 % for Python elements, or 30 % for the GIL they hold."""
    found = tf_data(case)
    maker = maker_of(case.optional.step_account)
    if not isinstance(found, Facts):
        return _lock_held(case, maker) or found
    facts = found.values
    wait, kind = float(facts["input_wait_ms"]), facts["kind"]
    is_python = float(facts["python_frac"]) >= HALF_FRAC
    making = _maker_facts(maker)
    if kind == "hand-over" and is_python:
        python_ms = _python_frac(case) * found.step_ms
        if python_ms < THIRD_FRAC * wait:
            return silent("python_input", python_ms=python_ms, wait_ms=wait)
        saving, high, cause = min(python_ms, wait), wait, "python-holds-lock"
        making["python_ms"] = python_ms
    elif kind == "python-source" or (kind == "map" and is_python):
        saving = float(facts.get("gain_native_function_ms", 0.0))
        is_whole = float(facts["elements_per_batch"]) < WHOLE_BATCH
        cause = "python-in-pipeline"
        if kind == "python-source":
            cause = "python-batches" if is_whole else "python-generator"
        # The step's own ops gain the core that making batches takes.
        beside = _core_frac(case, facts) * (found.step_ms - wait)
        high = max(wait, saving) + beside
        making |= {"below_ms": high if beside else 0.0}
    else:
        return silent("no_python_input", leaf=facts["leaf"])
    if not saving > 0:
        return silent("no_gain")
    return case.match(
        cause,
        saving,
        step_ms=found.step_ms,
        high_ms=max(high, saving),
        place=place_of_thread(maker),
        evidence=found.evidence,
        more={**facts, **making},
    )


def _maker_facts(maker: RivalRow | None) -> dict[str, float | str | None]:
    if maker is None:
        return {}
    return {"making_frac": maker.busy_frac, "maker_call": maker.call or maker.function}


def _core_frac(case: Case, facts: Mapping[str, float | str]) -> float:
    """Return the share of the cores of a step without devices that Python takes; 0 if little."""
    run = case.overview_page.environment
    busy_ms = float(facts["element_us"]) * float(facts["elements_per_batch"]) / 1000
    if run.device_count or not run.host_cores or not busy_ms > 0:
        return 0.0
    taken = min(busy_ms / float(facts["step_time_ms"]), 1.0) / run.host_cores
    return taken if taken >= ALARM_FRAC else 0.0


def _python_frac(case: Case) -> float:
    """Return the share of the recording in which functions of the pipeline run Python."""
    ops = case.tf_data_bottleneck_analysis.function_ops.records()
    python_ms = sum(one.self_time_ms for one in ops if one.type in names.PYTHON_OPS)
    recorded_ms = float(case.overview_page.environment.profile_duration_ms)
    # Parallel calls wait for each other's lock, so their times may exceed the recording.
    return min(python_ms / recorded_ms, 1.0) if recorded_ms > 0 else 0.0


def _lock_held(case: Case, maker: RivalRow | None) -> Answer | None:
    """Return the finding of Python that keeps the loop from dispatching; None without.

    The pipeline runs ahead, so nothing waits for a batch; but while its function holds the GIL,
    the loop cannot dispatch, and nothing computes.
    """
    host = case.optional.host_activity
    if host is None or not host.step_time_ms > 0:
        return None
    share = _python_frac(case)
    saving = min(share * host.step_time_ms, host.idle_ms)
    if saving < THIRD_FRAC * host.step_time_ms:
        return None
    return case.match(
        "python-delays-loop",
        saving,
        step_ms=host.step_time_ms,
        place=place_of_thread(maker),
        evidence=(
            Ref("tf_data_bottleneck_analysis", "function_ops"),
            Ref("host_activity", "idle_ms"),
        ),
        python_frac=share,
        idle_ms=host.idle_ms,
        more=_maker_facts(maker),
    )


def input_takes_cores(case: Case) -> Answer:
    """Fire when input keeps 0.3 cores and 15 % of the host busy that computes the steps."""
    overview = case.overview_page
    step, run = case.step_ms, overview.environment
    wait = overview.breakdown_ms["input"]
    if run.device_count:
        return silent("device_computes")
    if wait >= SOME_FRAC * step:
        return silent("waits_first", wait_frac=wait / step)
    times: dict[str, float] = {}
    account, recorded = case.optional.step_account, float(run.profile_duration_ms)
    # Python functions take turns on one lock, and only samples tell whether they compute or wait.
    most_ms = recorded if account is not None and account.has_python else 0.0
    for one in case.tf_data_bottleneck_analysis.function_ops.records():
        if not one.type.endswith("Dataset"):
            most = most_ms if one.type in names.PYTHON_OPS else inf
            times[one.type] = min(times.get(one.type, 0.0) + one.self_time_ms, most)
    busy = sum(times.values()) / recorded if recorded > 0 else 0.0
    if busy < THIRD_FRAC:
        return silent("input_cores", busy=busy)
    if not run.host_cores:
        return unknown("no_cores")
    share = min(busy / run.host_cores, 1.0)
    if share < ALARM_FRAC:
        return silent("input_cores", busy=busy)
    longest = sorted(times, key=lambda op: -times[op])[:FEW]
    return case.match(
        "input-takes-cores",
        cost_ms=share * step,
        place=place_of_thread(maker_of(account)),
        evidence=(
            Ref("tf_data_bottleneck_analysis", "function_ops", rows=tuple(longest)),
            Ref("trace_viewer", longest[0]),
        ),
        busy_cores=busy,
        host_cores=run.host_cores,
        ops=listed((op, times[op] / sum(times.values())) for op in longest),
    )
