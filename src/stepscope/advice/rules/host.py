"""Rules about what the host does, beside eager execution."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, Final

import numpy as np

from stepscope.advice.evidence.copies import comes_from, host_memory_ops
from stepscope.advice.evidence.device_memory import device_memories
from stepscope.advice.evidence.device_time import (
    compute_ms,
    idle_ref,
    launch_calls,
    may_be_the_recorders,
)
from stepscope.advice.evidence.lines import place_of
from stepscope.advice.evidence.steps import (
    LongSteps,
    is_window,
    long_steps,
    replayed_frac,
)
from stepscope.advice.evidence.threads import is_wait_for_others, waited_for, waits_for_others
from stepscope.advice.match import Case
from stepscope.advice.render import brief_place, first_names, phrase, silent, unknown
from stepscope.registry import LIKELY, Answer, severity_of
from stepscope.result import Place, Ref
from stepscope.schema import names
from stepscope.tables.core.thresholds import (
    ACT_FRAC,
    ALARM_FRAC,
    DISPATCH_US,
    DOZENS,
    FAIR_FRAC,
    HALF_FRAC,
    LARGE_FRAC,
    LAUNCH_US,
    LITTLE_FRAC,
    MOST_FRAC,
    NEARLY_ALL_FRAC,
    PART_FRAC,
    SHORT_HOST_OP_US,
    SLOW_LAUNCH_US,
    SOME_FRAC,
    THIRD_FRAC,
    UPDATE_OPS,
)
from stepscope.tables.traits.op_families import PRODUCTS
from stepscope.tables.traits.updates import has_fused

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import HostActivity, SideRow
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.analysis.step_account import StepAccount

_WAYS: Final = {"host_to_device": "host to device", "output": "device to host"}


def launch_bound(case: Case) -> Answer:
    """Fire when uncovered kernel launches cost 3 % of the step or more."""
    overview = case.overview_page
    launching = float(overview.breakdown_ms["kernel_launch"])
    # Of steps that are hardly sure, what recorders may add is little.
    is_unsure = case.sure < LIKELY and severity_of(launching, case.step_ms) == "medium"
    is_replayed = replayed_frac(overview) >= HALF_FRAC
    return case.match(
        "launch-bound-graphs" if is_replayed else "launch-bound",
        launching,
        severity="info" if is_unsure or may_be_the_recorders(case, overview) else None,
        evidence=(Ref("overview_page", "breakdown_ms.kernel_launch"), idle_ref("kernel_launch")),
        kernel_launch_ms=launching,
    )


def slow_launches(case: Case) -> Answer:
    """Fire when waiting for launches costs 3 % of the step and a launch lasts 25 µs or more."""
    overview, idle = case.overview_page, case.device_idle
    launching = float(overview.breakdown_ms["kernel_launch"])
    calls, cost = launch_calls(idle)
    replayed = replayed_frac(overview)
    if launching < ACT_FRAC * case.step_ms:
        return case.below(launching)
    if not calls:
        return unknown("no_launch")
    if cost < SLOW_LAUNCH_US:
        return silent("usual_launch", launch_us=cost)
    if replayed >= HALF_FRAC:
        return silent("replayed", replayed_frac=replayed)
    pipeline = case.optional.input_pipeline_analyzer
    work = 0.0
    if pipeline is not None and pipeline.step_count:
        times = [time for time in pipeline.input_ops["self_time_ms"] if time == time]
        work = float(sum(times)) / int(pipeline.step_count)
    return case.match(
        "slow-launches",
        launching * (1 - LAUNCH_US / cost),
        sure=1.0 if work else HALF_FRAC,
        cost_ms=launching,
        high_ms=launching,
        evidence=(
            Ref("device_idle", "launches.per_step"),
            Ref("overview_page", "breakdown_ms.kernel_launch"),
            idle_ref("kernel_launch"),
        ),
        mean_launch_us=cost,
        launches_per_step=calls,
        kernel_launch_ms=launching,
        tf_data_ms=work or None,
    )


# ---------------------------------------------------------------------------- waits, copies, memory

# Idle time with a cause of its own, which a host that runs ahead would still have.
_OWN_CAUSES: Final = ("input", "compilation", "other_device")


def host_waits(case: Case) -> Answer:
    """Fire when running ahead would hide 3 % of the step or more."""
    idle = case.device_idle
    late = sum(
        float(row.after_wait_ms) for row in idle.causes.records() if row.cause not in _OWN_CAUSES
    )
    # A step cannot get shorter than what the host has to do in it: it loses its waiting at most.
    saving = min(late, idle.blocked_ms)
    if not len(idle.waits):
        return silent("no_waits")
    call = next(iter(idle.waits.records())).call
    if call.startswith(names.PYTHON_CALL_MARK):
        call = call.rpartition(" ")[2]
    gap = next((row for row in idle.gaps.records() if row.after_wait), None)
    begin = None if gap is None else float(gap.start_ms)
    end = None if gap is None or begin is None else begin + gap.duration_us / 1000
    return case.match(
        "host-waits",
        saving,
        high_ms=max(saving, min(idle.after_wait_ms, idle.blocked_ms)),
        place=place_of(case.optional.step_account, "wait"),
        evidence=(
            Ref("device_idle", "waits.per_step"),
            Ref("trace_viewer", call, from_ms=begin, to_ms=end),
        ),
        blocked_ms=idle.blocked_ms,
        idle_after_wait_ms=late,
        call=call,
        calls_per_step=sum(row.per_step for row in idle.waits.records()),
    )


def host_copies(case: Case) -> Answer:
    """Fire when copies that nothing hides cost 3 % of the step or more."""
    overview, idle = case.overview_page, case.device_idle
    exposed = {way: float(overview.breakdown_ms[way]) for way in _WAYS}
    total = sum(exposed.values())
    way = max(exposed, key=lambda name: exposed[name])
    copies = [row for row in idle.copies.records() if row.direction == _WAYS[way]]
    account = case.optional.step_account
    place = place_of(account, "copy")
    offloaded, ops = host_memory_ops(case.optional.hlo_stats)
    room = None
    if offloaded and case.optional.memory_profile is not None:
        memories = device_memories(case.optional.memory_profile)
        room = memories[0].free_bytes if memories else None
    # What compute can hide, it hides once the next copy runs beside it; half of what is offloaded
    # is taken to fit on the device.
    expected = max(min(total, compute_ms(overview)), total / 2 if offloaded else 0.0)
    cause = "host-copies" if way == "host_to_device" else "results-copied"
    if offloaded:
        cause = "offloaded-copies"
    elif way == "host_to_device" and comes_from(idle) == "pageable":
        cause = "pageable-copies"
    return case.match(
        cause,
        expected,
        cost_ms=total,
        high_ms=total,
        place=place,
        evidence=(
            Ref("overview_page", f"breakdown_ms.{way}"),
            Ref("hlo_stats", "category=copy-done", rows=ops)
            if ops
            else Ref("device_idle", "copies.per_step", rows=(_WAYS[way],)),
        ),
        host_to_device_ms=exposed["host_to_device"],
        device_to_host_ms=exposed["output"],
        copies_per_step=sum(row.per_step for row in copies) or None,
        offloaded_frac=offloaded or None,
        free_bytes=room,
        direction=phrase("to_device" if way == "host_to_device" else "from_device"),
        copying_op=None if place is not None else _copying_op(account),
    )


def _copying_op(account: StepAccount | None) -> str | None:
    """Return the op that copies most; None unknown."""
    rows = [] if account is None else list(account.owners.records())
    ops = [one for one in rows if one.kind == "copy" and "/" in one.name]
    return max(ops, key=lambda one: one.time_ms).name if ops else None


# An allocator frees within the op that needs room; a program that empties its cache, outside.
_FREES: Final = re.compile(r"Free|Release|Unmap")


def allocation_stalls(case: Case) -> Answer:
    """Fire when devices idle 3 % of the step or more while memory is allocated."""
    overview, idle = case.overview_page, case.device_idle
    stalled = next(row.idle_ms for row in idle.causes.records() if row.cause == "allocation")
    calls = list(idle.allocations.records())
    often = calls[0].spread_frac if calls else 1.0
    is_habit = often >= HALF_FRAC
    account = case.optional.step_account
    is_emptied = overview.environment.framework == "PyTorch" and _is_emptied(account)
    return case.match(
        "cache-emptied" if is_emptied else "allocation-stalls",
        # In few steps it may be an allocator that grows, which ends by itself.
        stalled if is_habit else stalled * often,
        cost_ms=stalled,
        high_ms=stalled,
        place=place_of(account, "allocation"),
        evidence=(
            idle_ref("allocation"),
            Ref("device_idle", "allocations.per_step", rows=tuple(row.call for row in calls[:1])),
        ),
        allocation_ms=stalled,
        calls_per_step=calls[0].per_step if calls else None,
        call=calls[0].call if calls else phrase("none"),
        spread_frac=None if is_habit else often,
    )


def _is_emptied(account: StepAccount | None) -> bool:
    """Return whether most of the time is the program's own: an allocator frees within an op."""
    rows = [] if account is None else list(account.owners.records())
    own = [one for one in rows if one.kind == "allocation"]
    freed = [one for one in own if _FREES.search(one.name) and not one.within]
    whole = sum(one.time_ms for one in own)
    return whole > 0 and sum(one.time_ms for one in freed) >= HALF_FRAC * whole


# ---------------------------------------------------------------------------- gradients

# Autograd's name for the evaluation of a node.
_EVALUATES: Final = "evaluate_function: "


def unused_gradients(case: Case) -> Iterator[Answer]:
    """Fire when gradients without their use cost 10 % of the step."""
    account = case.step_account
    known = [one for one in (account.unclaimed_gradients, account.unused_gradients) if one]
    for found in known:
        cause = "unclaimed-gradients" if found.updated else "unused-gradients"
        # Where nothing is trained at all, an op costs no more than the note of its gradient.
        noted_ms = found.ops * DISPATCH_US / 1000 if found.is_all else inf
        yield case.match(
            cause,
            cost_ms=min(found.time_ms, noted_ms),
            place=found.place,
            evidence=(Ref("step_account", cause.replace("-", "_")),),
            unused_ms=found.time_ms,
            ops=None if found.updated else found.ops,
            parameters=found.ops if found.updated else None,
            updated=found.updated or None,
            longest=None if found.place else found.longest.rpartition(_EVALUATES)[2],
        )
    if not known:
        yield silent("no_unused")


def repeated_gradients(case: Case) -> Answer:
    """Fire when gradients that were computed before cost 5 % of the step."""
    account, found = case.step_account, case.step_account.repeated_gradients
    if found is None:
        return case.below(0.0) if _names_gradients(account) else unknown("no_gradient_names")
    return case.match(
        "repeated-gradients",
        cost_ms=found.time_ms,
        place=found.place,
        evidence=(Ref("step_account", "repeated_gradients"),),
        repeated_ms=found.time_ms,
        times=round(found.times),
        ops=found.ops,
        longest=None if found.place else found.longest,
    )


def _names_gradients(account: StepAccount) -> bool:
    """Return whether anything of the step is named as a gradient, and of what."""
    owners = (f"{one.name} {one.within}" for one in account.owners.records())
    return any("Backward" in one for one in owners)


# ---------------------------------------------------------------------------- Python


def optimizer_per_variable(case: Case) -> Answer:
    """Fire when an optimizer dispatches 100 short ops that cost 5 % of the step."""
    host = case.host_activity
    optimizers = list(host.optimizers.records())
    if not optimizers:
        return unknown("no_optimizer")
    worst = max(optimizers, key=lambda one: one.short_ms)
    is_few = worst.ops < UPDATE_OPS
    if worst.is_together or is_few or worst.op_us > SHORT_HOST_OP_US:
        return silent(
            "optimizer", optimizer=worst.optimizer, count=round(worst.ops), op_us=worst.op_us
        )
    overview = case.optional.overview_page
    # Inside a compiled function nothing dispatches them from Python: so are Keras and its like.
    is_graph = (
        overview is not None
        and overview.environment.framework.startswith("TensorFlow")
        and host.eager_ops < THIRD_FRAC * worst.ops
    )
    name = worst.optimizer
    row = name if len(host.hosts) < 2 else worst.host
    optimizer_class = name if name.isidentifier() and name[:1].isupper() else "AdamW"
    return case.match(
        "optimizer-per-variable",
        cost_ms=worst.short_ms,
        severity="info" if is_graph or worst.short_ms < ALARM_FRAC * case.step_ms else None,
        evidence=(Ref("host_activity", "optimizers.time_ms", rows=(row,)),),
        optimizer=name,
        optimizer_class=optimizer_class,
        optimizer_option="fused" if has_fused(optimizer_class) else "foreach",
        ops_per_step=worst.ops,
        short_ms=worst.short_ms,
        op_us=worst.op_us,
    )


_GARBAGE: Final = "garbage collection"


def garbage_collection(case: Case) -> Answer:
    """Fire when collections cost 3 % of the step or more."""
    host = case.host_activity
    rows = [one for one in host.side_work.records() if one.kind == _GARBAGE]
    worst = max(rows, key=lambda one: one.time_ms, default=None)
    if worst is None:
        return case.below(0.0)
    spent = worst.time_ms
    is_once = round(worst.per_step * host.step_count) <= 1 < host.step_count
    # Short ones of young objects come beside the one that takes the time.
    is_few = 1 < host.step_count < DOZENS
    is_once |= is_few and worst.most_frac >= MOST_FRAC
    is_placed = bool(worst.function) and worst.function_frac >= HALF_FRAC
    named = (worst.function, worst.file)
    own = sum(one.self_ms for one in host.python.records() if (one.function, one.file) == named)
    # A function that takes longer than its collections is a matter of its own.
    beside = own if is_placed and own <= spent else 0.0
    return case.match(
        "garbage-collection",
        sure=HALF_FRAC if is_once else 1.0,
        cost_ms=spent,
        severity="info" if is_once else None,  # a single collection shows no habit
        high_ms=spent + beside,
        place=Place(worst.function, worst.file, worst.line or 0) if is_placed else None,
        evidence=(
            Ref("host_activity", "side_work", rows=(_GARBAGE,)),
            Ref("trace_viewer", _GARBAGE),
        ),
        garbage_ms=spent,
        collections_per_step=worst.per_step,
        steps_frac=worst.steps_frac,
        function_frac=worst.function_frac if is_placed else None,
    )


_NEEDS_GIL: Final = ("python", "library", "framework", "unrecorded", "region")


def gil_contention(case: Case) -> Answer:
    """Fire when a thread runs Python for 20 % of the steps, and the GIL was late."""
    account, step = case.step_account, case.step_ms
    if not account.has_python:
        return unknown("no_python_functions")
    rivals = [one for one in account.rivals.records() if one.busy_frac >= FAIR_FRAC]
    worst = max(rivals, key=lambda one: one.busy_frac, default=None)
    if worst is None:
        return silent("no_rival")
    parts = list(account.part_list())
    needs = sum(
        one.time_ms for one in parts if one.kind in _NEEDS_GIL and not waits_for_others(one)
    )
    waited = sum(
        one.time_ms
        for one in parts
        if (other := waited_for(one, account)) is not None and other.thread == worst.thread
    )
    if not worst.loop_waits and not worst.takes_turns:
        return silent("free_lock", thread=worst.thread)
    if needs < SOME_FRAC * step:
        return silent("little_lock", cost_frac=needs / step)
    if waited >= HALF_FRAC * step:
        return silent("loop_waits", thread=worst.thread)
    most = min(worst.busy_frac, 1.0) * needs
    # Two threads that want one lock have it half of the time each; but a thread that asks for it
    # waits up to 5 ms. A sampler lets threads take turns more often than Python does by itself.
    return case.match(
        "gil-contention",
        cost_ms=most,
        high_ms=most if worst.loop_waits else min(worst.busy_frac / MOST_FRAC, 1.0) * step,
        place=Place(function=worst.function, file=worst.file, line=worst.line or 0),
        evidence=(
            Ref("step_account", "rivals", rows=(worst.thread,)),
            Ref("trace_viewer", worst.thread),
        ),
        thread=worst.thread,
        busy_frac=worst.busy_frac,
        others=worst.count - 1 if worst.count > 1 else None,
    )


_SWITCHES: Final = {
    "torch_anomaly_mode": "torch.autograd.set_detect_anomaly(True)",
    "tf_run_functions_eagerly": "tf.config.run_functions_eagerly(True)",
    "jax_debug_nans": "jax_debug_nans",
    "jax_debug_infs": "jax_debug_infs",
    "jax_disable_jit": "jax_disable_jit",
    "jax_check_tracer_leaks": "jax_check_tracer_leaks",
}
# TensorFlow's checks of every tensor, and PyTorch's of every gradient with what reads its answer.
_CHECK: Final = re.compile(r"^(?:CheckNumerics|DebugNumericSummary|DebugIdentity)(?:V\d)?$")
_NAN: Final = "aten/isnan"
_READS: Final = frozenset(
    f"aten/{one}" for one in ("isnan", "ne", "any", "_is_any_true", "item", "_local_scalar_dense")
)
_GRADIENT: Final = re.compile(r"^(?:torch/)?autograd/\w+$")
# Kinds of the step's time that go with the checks: stacks, and ops that wait for each answer.
_WITH_CHECKS: Final = ("framework", "library")


def debug_mode(case: Case) -> Answer:
    """Fire when a debugging switch was on, or checks of every gradient or tensor ran."""
    account, stats = case.step_account, case.optional.framework_op_stats
    overview = case.optional.overview_page
    settings = {} if overview is None else overview.environment.settings
    switches = [switch for name, switch in _SWITCHES.items() if name in settings]
    rows = [] if stats is None else list(stats.ops.records())
    count = {one.operation: one.occurrences for one in rows}
    gradients = sum(times for name, times in count.items() if _GRADIENT.match(name))
    checked = MOST_FRAC * gradients
    is_anomaly = gradients > 0 and count.get(_NAN, 0) >= checked
    checks = {
        one.operation for one in rows if _CHECK.match(one.type) or _CHECK.match(one.operation)
    }
    if is_anomaly:
        checks |= _READS & {*count}
        switches = switches or [_SWITCHES["torch_anomaly_mode"]]
    if not switches and not checks:
        return silent("no_checks")
    owners = list(account.owners.records())
    own = sum(one.time_ms for one in owners if one.name in checks)
    around = sum(
        one.time_ms for one in owners if one.kind in _WITH_CHECKS and one.name not in checks
    )
    # At least half of what is around goes; at most all but the products that a model is made of.
    low = own + around / 2
    high = max(case.step_ms - sum(one.time_ms for one in owners if one.family in PRODUCTS), low)
    return case.match(
        "debug-mode",
        (low + high) / 2,
        cost_ms=high,
        low_ms=low,
        high_ms=high,
        evidence=(
            Ref("framework_op_stats", "occurrences", rows=tuple(sorted(checks))),
            Ref("overview_page", "environment.settings"),
        ),
        details=tuple(switches),
        switch=switches[0] if switches else ", ".join(sorted(checks)),
    )


# ---------------------------------------------------------------------------- compile and trace

# Functions by which TensorFlow itself writes and reads a SavedModel or a checkpoint.
_SAVES: Final = re.compile(r"_traced_(?:save|restore)|signature_wrapper")


def retracing(case: Case) -> Answer:
    """Fire when tracing costs 3 % of the step or more, and happened at least twice."""
    host = case.host_activity
    functions = list(host.calls.records())
    traced = [one for one in functions if one.traces and one.built > 0]
    if not any(one.traces for one in functions):
        return unknown("no_tf_function")
    saving = sum(one.build_ms for one in traced)
    times = sum(one.built for one in traced) * host.step_count
    if not traced or round(times) < 2:
        return silent("traces", count=round(times), cost_frac=saving / case.step_ms)
    worst = max(traced, key=lambda one: one.build_ms)
    share = worst.built / worst.calls
    cause = "retracing"
    if _SAVES.match(worst.function):
        cause = "retraced-saving"
    elif worst.traces == 1 and share >= NEARLY_ALL_FRAC:
        cause = "remade-function"
    return case.match(
        cause,
        saving,
        evidence=(
            Ref("host_activity", "calls", rows=(worst.function,)),
            Ref("trace_viewer", worst.function),
        ),
        traced=worst.function,
        traced_frac=share,
        traced_per_step=worst.built,
        traces=worst.traces,
    )


_RECOMPILED: Final = {
    "shapes": "recompiled-shapes",
    "values": "recompiled-constants",
    "nothing": "recompiled-same",
}


def recompilation(case: Case) -> Answer:
    """Fire when compiling costs 3 % of the step or more, and happened at least twice."""
    overview, host = case.overview_page, case.host_activity
    step = case.step_ms
    if is_window(overview):
        return unknown("window")
    calls = list(host.calls.records())
    compiled = [one for one in calls if not one.traces and one.built > 0]
    # Another rule reports what is traced again.
    traced = sum(one.build_ms for one in calls if one.traces and one.built > 0)
    part = max(overview.breakdown_ms["compilation"] - traced, 0.0)
    saving = max(sum(one.build_ms for one in compiled), part)
    # Without calls that name their function, steps that compile are counted.
    often = round(sum(one.built for one in compiled) * host.step_count)
    if not compiled:
        often = sum(
            one.kept and one.compilation_ms >= LITTLE_FRAC * one.step_time_ms
            for one in overview.step_table.records()
        )
    if part < ACT_FRAC * step or often < 2:
        return silent("compiles", count=often, cost_frac=part / step)
    worst = max(compiled, key=lambda one: one.build_ms, default=None)
    # Steps that are a guess may be the program's set-up, where each function compiles once. A
    # function of the program that compiles again and again is no set-up.
    is_again = worst is not None and worst.file and worst.built * host.step_count > 2
    is_sure = is_again or case.sure >= HALF_FRAC
    return case.match(
        "recompilation" if worst is None else _RECOMPILED.get(worst.differs, "recompilation"),
        min(saving, step),
        sure=1.0 if is_sure else HALF_FRAC,
        severity=None if is_sure else "info",
        evidence=(
            Ref("host_activity", "calls", rows=() if worst is None else (worst.function,)),
            Ref("overview_page", "breakdown_ms.compilation"),
        ),
        compiled=None if worst is None else worst.function,
        compiled_frac=None if worst is None else worst.built / worst.calls,
        differs_at=None if worst is None else worst.differs_at,
        build_ms=saving,
        compilation_ms=part,
    )


def graph_breaks(case: Case) -> Answer:
    """Fire when each step breaks, and devices wait 3 % of it for the host."""
    overview, found = case.overview_page, case.compiled_regions
    if not len(found.regions):
        return unknown("no_region")
    steps = max(len(overview.step_table), 1)
    breaks = [one for one in found.breaks.records() if one.calls >= steps]
    if not breaks:
        is_unseen = not len(found.breaks) and len(found.regions) > 1
        return unknown("several_regions") if is_unseen else silent("no_breaks")
    parts = overview.breakdown_ms
    waiting = float(parts["kernel_launch"] + parts["host_compute"])
    places = [brief_place(one.function, one.file, one.line) for one in breaks]
    return case.match(
        "graph-breaks",
        cost_ms=waiting,
        evidence=(
            Ref("compiled_regions", "breaks", rows=tuple(one.function for one in breaks)),
            Ref("overview_page", "breakdown_ms.kernel_launch"),
        ),
        breaks_per_step=sum(one.calls for one in breaks) / steps,
        breaks_at=first_names(places),
        host_wait_ms=waiting,
    )


# ---------------------------------------------------------------------------- beside the step

_SIDE_CAUSES: Final = {
    "printing": "print-every-step",
    "summaries": "summaries-every-step",
    "checkpoint": "checkpoint-every-step",
    "callback": "callback-every-step",
}


def print_every_step(case: Case) -> Answer:
    """Fire when such work costs 3 % of the step and is in at least half of the steps."""
    host = case.host_activity
    kinds = [
        one
        for one in host.side_work.records()
        if one.kind in _SIDE_CAUSES and one.steps_frac >= HALF_FRAC
    ]
    saving = sum(one.time_ms for one in kinds)
    if not saving >= ACT_FRAC * case.step_ms:
        return case.below(saving) if len(host.python) else unknown("side_work_python")
    worst = max(kinds, key=lambda one: one.time_ms)
    return case.match(
        _SIDE_CAUSES[worst.kind],
        saving,
        evidence=(
            Ref("host_activity", "side_work", rows=tuple(one.kind for one in kinds)),
            Ref("trace_viewer", worst.calls.partition(",")[0]),
        ),
        calls=worst.calls,
        whole_ms=worst.whole_ms,
        steps_frac=worst.steps_frac,
        alone_ms=saving,
    )


def slow_steps(case: Case) -> Answer:
    """Fire when steps with such work, beyond twice the median, cost 3 % of all step time."""
    host, steps = case.host_activity, long_steps(case.overview_page)
    if not isinstance(steps, LongSteps):
        return steps
    if steps.is_cheap:
        return case.below(steps.per_step_ms)
    culprit = _side_work(host, steps.excess_ms / max(steps.count, 1))
    if culprit is None:
        is_seen = "python" in case.overview_page.recorded
        return silent("no_side_work") if is_seen else unknown("side_work_python")
    return case.match(
        "slow-steps",
        # Only what the work itself takes can go; steps may be slow for other reasons, too.
        min(steps.per_step_ms, float(culprit.time_ms)),
        cost_ms=steps.per_step_ms,
        high_ms=steps.per_step_ms,
        evidence=(Ref("host_activity", "side_work", rows=(culprit.kind,)), steps.slowest_ref),
        kind=culprit.kind,
        calls=culprit.calls,
        in_step_ms=float(culprit.in_step_ms),
        more={**steps.measured, "cause": culprit.kind},
    )


def _side_work(host: HostActivity, excess_ms: float) -> SideRow | None:
    """Return what the program does for its operator in some steps, if it makes them slow."""
    some = [
        one
        for one in host.side_work.records()
        if one.steps_frac < HALF_FRAC and one.kind != _GARBAGE
    ]
    worst = max(some, key=lambda one: one.in_step_ms, default=None)
    is_cause = worst is not None and worst.in_step_ms >= HALF_FRAC * excess_ms > 0
    return worst if is_cause else None


# Parts that grow when the machine is busy with something else; so does compiling, where every step
# has some of it.
_OF_THE_MACHINE: Final = ("host_compute", "host_wait", "other", "input")
_COMPILING: Final = "compilation"


def uneven_steps(case: Case) -> Answer:
    """Fire when steps beyond twice the median cost 3 % of all step time or more."""
    overview = case.overview_page
    steps = long_steps(overview)
    if not isinstance(steps, LongSteps):
        return steps
    if steps.is_cheap:
        return case.below(steps.per_step_ms)
    # Each fourth step may end a round of four.
    if steps.count >= LARGE_FRAC * len(steps.time_ms):
        return silent("many_slow", count=steps.count, whole=len(steps.time_ms))
    cause, grown, usual = _grown_part(overview, steps)
    # On a machine without devices a slower CPU looks the same as a neighbour that takes it.
    of_machine = cause in _OF_THE_MACHINE or (cause == _COMPILING and usual > 0)
    is_program = overview.device.busy_frac is not None or not of_machine
    is_once = cause == _COMPILING and steps.count == 1  # warming up, until it happens again
    return case.match(
        "uneven-steps",
        steps.per_step_ms,
        sure=1.0 if is_program else HALF_FRAC,
        severity="medium" if is_program and not is_once else "info",
        evidence=(
            Ref("overview_page", "step_table", rows=(str(steps.slowest),)),
            steps.slowest_ref,
        ),
        kind=overview.part_labels[cause],
        grown_ms=grown,
        more={**steps.measured, "cause": cause},
    )


def between_steps(case: Case) -> Answer:
    """Fire when a tenth of the loop's time, or more, lies in none of its steps."""
    found = case.host_activity.between
    if found is None or found.count < 2:
        return silent("no_pauses")
    if found.frac < PART_FRAC:
        return silent("short_pauses", share_frac=found.frac)
    # A service between two requests waits as well.
    is_idle = is_wait_for_others(found.call)
    is_most = found.frac >= HALF_FRAC and case.sure >= LIKELY and not is_idle
    if not found.function and not is_most:
        return unknown("unplaced_pauses", count=found.count)
    place = Place(found.function, found.file, found.line, found.caller, call=found.call)
    return case.match(
        "between-steps",
        cost_ms=found.ms,
        severity="info"
        if is_idle
        else "high"
        if is_most
        else "medium"
        if found.frac >= LARGE_FRAC
        else "low",
        place=place if found.function else None,
        evidence=(Ref("host_activity", "between"),),
        does=found.call or found.function or None,
        share_frac=found.frac,
        pauses=found.count,
        more={"between_ms": found.ms},
    )


def _grown_part(overview: OverviewPage, steps: LongSteps) -> tuple[str, float, float]:
    """Return the part that grows most in most slow steps, by how much, and its usual time."""
    table = overview.step_table
    grown, usual = dict[str, float](), dict[str, float]()
    for name in overview.part_labels:
        part = np.asarray(table[f"{name}_ms"], dtype=np.float64)[steps.rows]
        usual[name] = float(np.median(part[~steps.is_long]))
        # One of them that compiles, or collects garbage, does not explain the others.
        grown[name] = float(np.median(part[steps.is_long])) - usual[name]
    cause = max(grown, key=lambda part: grown[part])
    return cause, grown[cause], usual[cause]
