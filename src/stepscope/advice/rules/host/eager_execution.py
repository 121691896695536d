"""Ops run one by one instead of as a compiled function.

What it checks: ops (or jitted functions) that the host dispatches one by one in a step and the
time in which nothing is computed meanwhile; without steps, the share of op time that ran eagerly.
Why it matters: each eager op pays for Python, dispatch and a launch of its own.
What to do: put the step into tf.function (or jax.jit, torch.compile).
When it is wrong: the recording covers set-up or evaluation code that is eager on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from stepscope.advice.eager_loops import SOME_FRAC
from stepscope.advice.evidence.dispatches import (
    MANY_DISPATCHES,
    dispatch_threshold,
    dispatched,
    is_op,
)
from stepscope.advice.evidence.steps import MOSTLY_REPLAYED, replayed_frac
from stepscope.advice.evidence.turns import loop_within
from stepscope.advice.parts.changes import BATCHED
from stepscope.advice.parts.hints.eager_calls import NO_CALL, eager_call
from stepscope.advice.results import Results
from stepscope.advice.wording import brief_place
from stepscope.registry import Answer, Rule, Silence, Unknown, severity_of
from stepscope.result import Finding, Place, Ref

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import CallRow, HostActivity
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.analysis.step_account import PartRow, StepAccount

# Reference §3.5: eager time above this share is worth a word.
EAGER_FRAC = 0.10
_USUAL_FRAC = 0.3
# What handing an op over costs at most; what is idle beyond that has another cause.
_MOST_MS = {"PyTorch": 0.04, "JAX": 0.3, "TensorFlow": 1.0}
# A Python function with this share of the step is a matter of its own.
_NAMED_FRAC = 0.05
# So many of the functions that are called most often are named.
_NAMED = 4
_CODE = {
    "tensorflow": "@tf.function\ndef train_step(batch): ...",
    "jax": "train_step = jax.jit(train_step)",
    "pytorch": "train_step = torch.compile(train_step)",
}
# What is compiled where nothing is trained.
_SERVED = _CODE | {
    "tensorflow": "@tf.function\ndef predict(batch): ...",
    "jax": "predict = jax.jit(predict)",
    "pytorch": "model = torch.compile(model)",
}
_ACTIONS = (
    "Compile the whole step as one function: "
    "[tensorflow: tf.function | jax: jax.jit | pytorch: torch.compile].",
    "[tensorflow: In Keras: leave run_eagerly=True out.] "
    "[jax: In Keras: compile with jit_compile=True, and leave run_eagerly=True out.]",
    "If it is compiled already, something switches that off: "
    "[tensorflow: tf.config.run_functions_eagerly(True) | jax: jax_disable_jit, or "
    "JAX_DISABLE_JIT in the environment | pytorch: torch.compiler.disable, or "
    "TORCHDYNAMO_DISABLE or TORCH_COMPILE_DISABLE in the environment].",
    "[tensorflow: Add jit_compile=True where XLA supports its ops.]",
    "Keep Python side effects (prints, metrics to NumPy) out of the step.",
)
# Where the rest of the step is compiled already.
_FIRST = (
    "Compile {} as one function ([tensorflow: tf.function | jax: jax.jit | pytorch: "
    "torch.compile]), or with the function that is compiled already; call it once for a whole "
    "batch, not once for each sample or variable."
)


def eager_execution(results: Results) -> Iterator[Answer]:
    """Fires when a step dispatches 20 ops while it computes nothing for 10 % of its time."""
    host = results.optional.host_activity
    if host is not None and host.step_count and host.step_time_ms > 0:
        optional = results.optional
        yield from _by_steps(host, optional.overview_page, optional.step_account)
    else:
        yield from _by_op_time(results.overview_page)


def _by_steps(
    host: HostActivity, overview: OverviewPage | None, account: StepAccount | None
) -> Iterator[Answer]:
    step, idle = host.step_time_ms, host.idle_ms
    rows = list(host.calls.records())
    building = sum(one.build_ms for one in rows)
    ops = dispatched(host)
    python = _python_ms(host)
    saving = max(idle - building - python, 0.0)
    framework = "" if overview is None else overview.environment.framework
    if framework in _MOST_MS:
        saving = min(saving, ops * _MOST_MS[framework])
    if (why := _why_not(host, overview, saving)) is not None:
        yield Silence(why)
        return
    is_served = overview is not None and overview.environment.task_type == "Inference"
    is_usual = framework == "PyTorch"  # by default: that alone is not an alarm
    is_beside = bool(_compiled(host))
    outer = _outer(account, beside_compiled=is_beside) if _are_single_ops(rows) else None
    is_window = account is not None and account.is_window
    where, place = (
        outer.where(step)
        if outer is not None
        else _site(account, framework, saving, beside_compiled=is_beside)
    )
    what = "What was recorded" if is_window else "The step"
    message, high = _message(what, host, account, outer, saving) + where, None
    if outer is not None:  # with all else that the call does: it may not be needed
        high, saving = max(saving, outer.time_ms), max(saving, _OF_OUTER * outer.time_ms)
    sure = saving if outer is not None else min(saving, _EXPECTED * _handed_over_ms(account))
    call = NO_CALL if outer is not None else eager_call(account, place)
    inner = place if is_beside and not _is_top(place) else None
    first = _ACTIONS[0] if inner is None else _FIRST.format(inner.function)
    found = Finding(
        rule=RULE.id,
        title=""
        if place is None or outer is not None
        else f"Ops run one by one, most in {brief_place(place.function, place.file, place.line)}",
        severity="info" if is_usual and sure < _USUAL_FRAC * step else severity_of(sure, step),
        saving_ms=saving,
        saving_high_ms=high,
        confidence=0.7,
        place=place,
        message=message + call.sentence,
        measured={
            "ops_per_step": ops,
            "idle_ms": idle,
            "python_ms": python,
            "computing_ms": host.computing_ms,
            "below_ms": 0.0 if outer is None else outer.time_ms,
            "step_time_ms": step,
            "step_after_ms": step - saving,
        },
        evidence=(Ref("host_activity", "idle_ms"), Ref("framework_op_stats", "eager")),
        actions=(*call.actions, first if outer is None else outer.action, *_ACTIONS[1:]),
        code=_SERVED if is_served and not is_beside else call.code or _code_of(inner),
    )
    yield loop_within(host).behind(found)


# What calls the outermost function of a program.
_TOP = "<module>"


def _is_top(place: Place | None) -> bool:
    """Whether a place is the program's outermost function, which holds the loop."""
    return place is not None and place.caller.endswith(_TOP)


def _code_of(place: Place | None) -> dict[str, str]:
    """How to compile the function that most is handed over below, where it has a plain name."""
    name = "" if place is None else place.function.rpartition(".")[2]
    if not name.isidentifier() or name.startswith("__"):
        return _CODE
    return {
        "tensorflow": f"@tf.function\ndef {name}(...): ...",
        "jax": f"{name} = jax.jit({name})  # jax.jit(jax.vmap({name})) over a batch",
        "pytorch": f"{name} = torch.compile({name})",
    }


def _why_not(host: HostActivity, overview: OverviewPage | None, saving_ms: float) -> str | None:
    """Why the ops that a step hands over do not matter; None where they are."""
    ops, enough, step = dispatched(host), dispatch_threshold(host), host.step_time_ms
    if ops < enough:
        return f"A step dispatches fewer than {enough} ops or compiled functions: {ops:.0f}."
    usual = max(host.usual_eager_ops, sum(one.calls for one in host.calls.records()))
    if usual < enough:  # what few steps do beside their work: an evaluation, a checkpoint
        return (
            f"The median step dispatches fewer than {enough} ops or compiled functions: "
            f"{usual:.0f}; only few steps dispatch more."
        )
    if saving_ms < EAGER_FRAC * step:
        return (
            f"A step dispatches {ops:,.0f} ops or compiled functions; handing them over leaves at "
            f"most {saving_ms / step:.0%} of the step without compute."
        )
    if (replayed := replayed_frac(overview)) >= MOSTLY_REPLAYED:
        return f"{replayed:.0%} of the devices' time is replayed from graphs already."
    return None


# So much of what is handed over is expected to go.
_EXPECTED = 0.8


def _handed_over_ms(account: StepAccount | None) -> float:
    """What the account has of it, without a device: what else computes nothing is another part."""
    if account is None or account.has_device:
        return inf
    return sum(part.time_ms for part in account.parts.records() if part.kind in RULE.parts)


def _python_ms(host: HostActivity) -> float:
    """Of functions that python-bound names: they cost as much in a compiled step's loop."""
    return sum(
        one.self_ms
        for one in host.python.records()
        if one.self_ms >= _NAMED_FRAC * host.step_time_ms and not one.is_wait
    )


# A call of the loop's has this share of the step, or what runs op by op is all of it.
_OUTER_FRAC = 0.25
# One that has more of it is what the step is for: the model's own call.
_WHOLE_FRAC = 0.75
# Handing over has this share of it, or long ops are what it costs, and no compiler takes those:
# 0.4 and more where a call's many short ops were planted, below 0.25 where copies or a model's
# ops were.
_HANDED_FRAC = 0.3
# So much of it is expected to go, whether it is compiled or left out.
_OF_OUTER = 0.75
# What hands ops over.
_HANDS_OVER = ("framework", "annotated")


@dataclass(frozen=True, slots=True)
class _Outer:
    """The call of the loop's, or below that, that most of what runs op by op is below.

    Attributes:
        place: Its function.
        time_ms: Of a step, with all that it calls.
    """

    place: Place
    time_ms: float

    def where(self, step: float) -> tuple[str, Place]:
        """It in a sentence to go on with, and its place."""
        share, at = self.time_ms / step, self.place
        return (
            f" Most of that is below {at.function} ({at.file}:{at.line}), which takes "
            f"{self.time_ms:.3g} ms of a step ({share:.0%}) with all that it calls.",
            at,
        )

    @property
    def action(self) -> str:
        """What to try first."""
        return (
            f"Leave {self.place.function} out for some steps and time the loop; if it is "
            "needed, compile it as one function "
            "([tensorflow: tf.function | jax: jax.jit | pytorch: torch.compile]), and what of it "
            "does not change compute once, before the loop."
        )


def _outer(account: StepAccount | None, *, beside_compiled: bool = False) -> _Outer | None:
    """The one with most of the framework's own work; None where none is, or where a part tells it.

    Where a call's own Python takes longer than what it hands over, that is another matter.

    Args:
        account: Of the step.
        beside_compiled: Whether the step also runs a function that is compiled: then a call with
            nearly all of the step is not the model, and one that it calls may be named.
    """
    if account is None:
        return None
    listed = list(account.calls.records())
    loops = {-1} | {at for at, one in enumerate(listed) if one.is_loop}
    own = [one for one in listed if one.above in loops and not one.is_loop]
    whole_ms = sum(one.framework_ms for one in own)
    one = max(own, key=lambda one: one.framework_ms, default=None)
    while one is not None and one.eager_ms > _WHOLE_FRAC * account.step_time_ms and beside_compiled:
        below = [each for each in listed if each.above == listed.index(one)]
        one = max(below, key=lambda one: one.framework_ms, default=None)
    # The top of a file cannot be left out.
    if one is None or one.function.startswith("<") or one.framework_ms < whole_ms / 2:
        return None
    found = _Outer(Place(one.function, one.file, one.line or 0, one.caller), one.eager_ms)
    least, most = _OUTER_FRAC * account.step_time_ms, _WHOLE_FRAC * account.step_time_ms
    handing = max(one.python_ms, _HANDED_FRAC * found.time_ms)
    if not least <= found.time_ms <= most or one.framework_ms < handing:
        return None
    is_told = any(
        (part.function == one.function or _is_called(part, found))
        and part.time_ms >= found.time_ms / 2
        for part in account.parts.records()
        if part.kind in ("eager", *_HANDS_OVER)
    )
    return None if is_told else found


def _is_called(part: PartRow, outer: _Outer) -> bool:
    """Whether a part is a loop of the program's that the call runs: it says what to change."""
    return part.kind == "eager" and part.caller.rpartition(" ")[2] == outer.place.function


# A function of the program hands most over where it has this share of what is handed over.
_SITE_FRAC = 0.4


# What runs a backward pass: one call of the program's, whatever it hands over.
_BACKWARD = re.compile(r"(?:^|\.)backward$|^autograd::engine")


def _site(
    account: StepAccount | None, framework: str, saving_ms: float, *, beside_compiled: bool
) -> tuple[str, Place | None]:
    """The function that hands most over, at the line with most of that; and a sentence about it.

    PyTorch's ops are counted where they run, but for those of backward passes. None where no
    function hands most over, and where a loop of the program's does: that is a part with a place.
    """
    if account is None:
        return "", None
    loops = [part.time_ms for part in account.parts.records() if part.kind == "eager"]
    if loops:  # each is a part; where none has a good share, what calls them is the place
        is_told = not beside_compiled or max(loops) >= SOME_FRAC * saving_ms
        return ("", None) if is_told else _above_most(account)
    listed = list(account.owners.records())
    back = {(one.file, one.line) for one in listed if one.line and _BACKWARD.search(one.name)}
    is_torch = framework == "PyTorch"
    lines: dict[tuple[str, str], dict[tuple[int, str], float]] = {}
    whole = 0.0
    for one in listed:
        if one.kind not in (("op",) if is_torch else _HANDS_OVER) or (one.file, one.line) in back:
            continue
        much = one.stretches if is_torch else one.time_ms
        whole += much
        if one.function and one.file and one.line:
            of_line = lines.setdefault((one.file, one.function), {})
            at = one.line, one.caller
            of_line[at] = of_line.get(at, 0.0) + much
    most = max(lines, key=lambda name: sum(lines[name].values()), default=None)
    if most is None or sum(lines[most].values()) < _SITE_FRAC * whole:
        return ("", None) if is_torch else _above_most(account)
    line, caller = max(lines[most], key=lambda at: lines[most][at])
    start = "Outside of the backward pass most" if back else "Most"
    place = Place(most[1], most[0], line, caller)
    return f" {start} are handed over in {place.function} ({place.file}:{line}).", place


# A call that this share of what is handed over is below stands for the functions that it calls.
_BELOW_FRAC = 0.6


def _above_most(account: StepAccount) -> tuple[str, Place | None]:
    """The innermost call that most is handed over below, and a sentence about it."""
    listed = list(account.calls.records())
    whole_ms = max((one.framework_ms for one in listed), default=0.0)
    enough = [one for one in listed if one.framework_ms >= _BELOW_FRAC * whole_ms]
    # They are on one path, and what calls one comes before it.
    if not enough or enough[-1].function.startswith("<"):
        return "", None
    one = enough[-1]
    if one.python_ms > one.framework_ms:  # a matter of its own
        return "", None
    place = Place(one.function, one.file, one.line or 0, one.caller)
    by = f", called from {one.caller}" if one.caller else ""
    return f" Most are handed over below {one.function} ({one.file}:{one.line}){by}.", place


# A tf.function that each step calls once is the step, whatever runs beside it.
_ONCE = (0.9, 1.1)


def _message(
    what: str,
    host: HostActivity,
    account: StepAccount | None,
    outer: _Outer | None,
    idle_ms: float,
) -> str:
    rows, step = list(host.calls.records()), host.step_time_ms
    is_eager = host.eager_ops >= sum(one.calls for one in rows)
    ops = "ops" if is_eager else "jitted functions"
    again = ("" if account is None else _again(account)) or _often(rows)
    return (
        f"{_where(what, host, outer)}: {dispatched(host):,.0f} {ops} are dispatched from "
        f"Python, and for {idle_ms:.3g} of its {step:.3g} ms nothing is computed.{again}"
    )


# A function of the program that each step calls so often is a loop of its own.
_AGAIN = 1.5


def _are_single_ops(calls: list[CallRow]) -> bool:
    """Whether ops are dispatched again and again, and no function that the program compiled."""
    often = [one.function for one in calls if one.calls >= _AGAIN]
    return all(map(is_op, often))


def _where(what: str, host: HostActivity, outer: _Outer | None) -> str:
    """What runs op by op: the step, a call, or what the loop does beside a tf.function."""
    if outer is not None:
        return f"Below {outer.place.function} {what[0].lower()}{what[1:]} runs op by op"
    compiled = [one for one in _compiled(host) if not one.eager]
    if not compiled or (host.eager_ops < MANY_DISPATCHES and any(one.traces for one in compiled)):
        return f"{what} runs op by op"
    longest = max(compiled, key=lambda one: one.time_ms)
    return f"Beside the compiled {longest.function} the loop, or a callback, runs op by op"


def _compiled(host: HostActivity) -> list[CallRow]:
    """The program's compiled functions that each step calls once; none where there are no steps.

    TensorFlow's with a good share of it; of JAX's the call ends long before what it starts.
    """
    if host.step_count == 1:
        return []
    return [
        one
        for one in host.calls.records()
        if not is_op(one.function) and _ONCE[0] <= one.calls <= _ONCE[1]
        if not one.traces or one.time_ms >= _NAMED_FRAC * host.step_time_ms
    ]


def _again(account: StepAccount) -> str:
    """What the program's own loops dispatch, as a sentence."""
    found = next((part for part in account.parts.records() if part.kind == "eager"), None)
    return f" Again and again: {found.made_of}." if found is not None else ""


def _often(calls: list[CallRow]) -> str:
    """The functions that are called most often, as a sentence."""
    often = sorted((one for one in calls if one.calls >= 1), key=lambda one: -one.calls)
    listed = ", ".join(one.function for one in often[:_NAMED])
    return f" Most often: {listed}." if len(often) > 1 else ""


def _by_op_time(overview: OverviewPage) -> Iterator[Answer]:
    shares = overview.op_shares
    sides = {"host": shares.host_eager_frac, "device": shares.device_eager_frac}
    eager = {
        side: share for side, share in sides.items() if share is not None and share > EAGER_FRAC
    }
    if all(share is None for share in sides.values()):
        yield Unknown("No op was recorded.")
        return
    if not eager:
        yield Silence(f"At most {EAGER_FRAC:.0%} of op time is eager.")
        return
    said = " and ".join(f"{share:.0%} of {side} op time" for side, share in eager.items())
    yield Finding(
        rule=RULE.id,
        severity="medium",
        saving_ms=None,
        no_saving="no step was found to measure it in",
        confidence=0.7,
        message=f"Ops run eagerly: {said}.",
        measured={f"{side}_eager_frac": share for side, share in eager.items()},
        evidence=(Ref("framework_op_stats", "eager"),),
        actions=_ACTIONS,
        code=_CODE,
    )


RULE = Rule(
    id="eager-execution",
    check=eager_execution,
    needs=("overview_page",),
    optional=("host_activity", "step_account"),
    evidence=("dispatch",),
    parts=("framework", "eager"),
    doc=__doc__ or "",
    change=BATCHED,
    title="Ops run one by one",
    threshold="≥ 20 dispatches in a step that computes nothing for ≥ 10 % of its time",
    symptom_of=("retracing", "recompilation", "print-every-step", "python-in-pipeline"),
)
