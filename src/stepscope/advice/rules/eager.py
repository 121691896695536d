"""Rules about ops that Python dispatches one by one."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

from stepscope.advice.catalogue import entries
from stepscope.advice.evidence.dispatches import dispatch_threshold, dispatched, is_op
from stepscope.advice.evidence.steps import replayed_frac
from stepscope.advice.match import Case
from stepscope.advice.render import below, first_names, silent, unknown
from stepscope.registry import Answer, Silence
from stepscope.result import Place, Ref
from stepscope.tables.core.thresholds import ACT_FRAC, HALF_FRAC, PART_FRAC, SOME_FRAC, THIRD_FRAC

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import CallRow, HostActivity
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.analysis.step_account import StepAccount

# Dispatching an op costs at most as much, in ms; what is idle beyond that has another cause.
_MOST_MS: Final = {"PyTorch": 0.04, "JAX": 0.3, "TensorFlow": 1.0}
_TOP: Final = "<module>"


def eager_execution(case: Case) -> Answer:
    """Fire when a step dispatches 20 ops while it computes nothing for 10 % of its time."""
    host = case.optional.host_activity
    if host is not None and host.step_count and host.step_time_ms > 0:
        return _by_steps(case, host)
    return _by_op_time(case)


def _by_steps(case: Case, host: HostActivity) -> Answer:
    overview, account = case.optional.overview_page, case.optional.step_account
    step, idle = host.step_time_ms, host.idle_ms
    calls = list(host.calls.records())
    framework = "" if overview is None else overview.environment.framework
    python = sum(  # of functions that are parts of the step: they stay in a compiled step's loop
        one.self_ms
        for one in host.python.records()
        if one.self_ms >= SOME_FRAC * step and not one.is_wait
    )
    saving = max(idle - sum(one.build_ms for one in calls) - python, 0.0)
    saving = min(saving, dispatched(host) * _MOST_MS.get(framework, inf))
    if (quiet := _why_not(host, overview, saving)) is not None:
        return quiet
    compiled = _compiled(host)
    place = _caller_of_most(account, saving, beside_compiled=bool(compiled))
    sure = min(saving, _dispatch_ms(account))
    # PyTorch dispatches op by op by default.
    is_usual = framework == "PyTorch" and sure < THIRD_FRAC * step
    named = [one for one in compiled if not one.eager]
    longest = max(named, key=lambda one: one.time_ms, default=None)
    inner = "" if place is None else place.function.rpartition(".")[2]
    is_inner = inner.isidentifier() and not inner.startswith("__")
    often = sorted((one for one in calls if one.calls >= 1), key=lambda one: -one.calls)
    # The outermost function holds the loop, and cannot be compiled.
    is_loop = place is not None and (not is_inner or place.caller.endswith(_TOP))
    is_beside = longest is not None and not is_loop
    return case.match(
        "eager-beside-compiled" if is_beside else "eager-execution",
        saving,
        step_ms=step,
        severity="info" if is_usual or sure < ACT_FRAC * step else None,
        place=place,
        evidence=(Ref("host_activity", "idle_ms"), Ref("host_activity", "calls.calls")),
        ops_per_step=dispatched(host),
        idle_ms=idle,
        python_ms=python,
        compiled=None if longest is None else longest.function,
        inner=inner if is_inner else "function",
        often=first_names([one.function for one in often]) if len(often) > 1 else None,
    )


def _why_not(host: HostActivity, overview: OverviewPage | None, saving_ms: float) -> Silence | None:
    """Return why the ops that a step dispatches do not matter; None where they do."""
    ops, enough = dispatched(host), dispatch_threshold(host)
    usual = max(host.usual_eager_ops, sum(one.calls for one in host.calls.records()))
    if min(ops, usual) < enough:  # what few steps do beside their work: an evaluation
        return silent("few_dispatches", count=round(min(ops, usual)))
    if saving_ms < PART_FRAC * host.step_time_ms:
        return below(saving_ms, host.step_time_ms, PART_FRAC)
    if (replayed := replayed_frac(overview)) >= HALF_FRAC:
        return silent("replayed", replayed_frac=replayed)
    return None


def _dispatch_ms(account: StepAccount | None) -> float:
    """Return what the account has of dispatch, without a device; else no bound."""
    if account is None or account.has_device:
        return inf
    parts = entries()["eager-execution"].facts.parts
    return sum(part.time_ms for part in account.part_list() if part.kind in parts)


def _compiled(host: HostActivity) -> list[CallRow]:
    """Return the program's compiled functions that each step calls once; none without steps.

    TensorFlow's with a good share of it; of JAX's the call ends long before what it starts.
    """
    if host.step_count == 1:
        return []
    return [
        one
        for one in host.calls.records()
        if not is_op(one.function) and round(one.calls) == 1
        if not one.traces or one.time_ms >= SOME_FRAC * host.step_time_ms
    ]


def _caller_of_most(
    account: StepAccount | None, saving_ms: float, *, beside_compiled: bool
) -> Place | None:
    """Return the innermost call that most is dispatched below.

    None where a loop of the program's has a good share: that is a part with a place.
    """
    if account is None:
        return None
    loops = [part.time_ms for part in account.part_list() if part.kind == "eager"]
    if loops and (not beside_compiled or max(loops) >= THIRD_FRAC * saving_ms):
        return None
    rows = list(account.calls.records())
    whole_ms = max((one.framework_ms for one in rows), default=0.0)
    enough = [one for one in rows if one.framework_ms >= HALF_FRAC * whole_ms]
    # They are on one path, and what calls one comes before it.
    if not enough or enough[-1].function.startswith("<"):
        return None
    call = enough[-1]
    if call.python_ms > call.framework_ms:  # a matter of its own
        return None
    return Place(call.function, call.file, call.line or 0, call.caller)


def _by_op_time(case: Case) -> Answer:
    shares = case.overview_page.op_shares
    known = {"host": shares.host_eager_frac, "device": shares.device_eager_frac}
    eager = {side: share for side, share in known.items() if share is not None}
    if not eager:
        return unknown("no_op")
    side = max(eager, key=lambda name: eager[name])
    if eager[side] <= PART_FRAC:
        return below(eager[side], 1.0, PART_FRAC)
    return case.match(
        "eager-op-time",
        severity="medium",
        evidence=(Ref("overview_page", f"op_shares.{side}_eager_frac"),),
        eager_frac=eager[side],
        side=side,
    )
