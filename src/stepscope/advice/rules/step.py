"""Rules about parts of the step: the largest ones, growing steps, and work that is done again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf, isnan
from typing import TYPE_CHECKING, Final

from stepscope.advice.catalogue import CauseEntry, causes, effects, family_of
from stepscope.advice.conditions import first_failure
from stepscope.advice.evidence.dispatches import dispatch_threshold, dispatched
from stepscope.advice.evidence.lines import place_of_part
from stepscope.advice.evidence.steps import is_the_recorders
from stepscope.advice.evidence.threads import (
    dispatches,
    is_model,
    maker,
    place_of_wait,
    waits_for_lock,
    waits_for_others,
    waits_for_requests,
)
from stepscope.advice.match import Case
from stepscope.advice.render import brief_place, listed, phrase, silent, unknown
from stepscope.advice.savings import (
    saving_of,
    without_saving,
)
from stepscope.quantities import share_words
from stepscope.registry import Answer, severity_of
from stepscope.result import Finding, Place, Ref, Severity
from stepscope.schema import names
from stepscope.tables.core.thresholds import (
    DOZENS,
    FEW,
    HALF_FRAC,
    LARGE_FRAC,
    LIST_CHARS,
    LITTLE_FRAC,
    MANY,
    PART_FRAC,
    SHORT_HOST_OP_US,
    SOME_FRAC,
)
from stepscope.tables.parts.shares import COPIES_ARGUMENT, MADE, ON_EACH_DEVICE
from stepscope.tables.traits.op_families import PRODUCTS, SCOPES, UNUSUAL
from stepscope.tables.traits.updates import has_fused, is_update, optimizer_of
from stepscope.verdicts.sentences import key_of

if TYPE_CHECKING:
    from stepscope.analysis.host_activity import HostActivity
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.analysis.step_account import AccountPart, OwnerRow, ShareRow, StepAccount
    from stepscope.verdicts.other_threads import RivalRow

# The recorder's own work is not the program's; a runtime's work around ops goes with them.
_OURS: Final = ("recorder", "runtime")
_CODE: Final = ("python", "library")
# Parts that a runtime has work around, whose time is listed by itself.
_RUN: Final = ("op", "layer")
# Kernels that the recording ties to no op.
_UNKNOWN_OPS: Final = tuple(
    name for one in (names.BEFORE_RECORDING, names.NO_LAUNCH) for name in (one, f"{one} ops")
)
# A line of the program runs these, where lines were recorded.
_HAS_LINE: Final = ("op", "eager", "framework", "program", "compile")


# ---------------------------------------------------------------------------- the largest parts


def largest_part(case: Case) -> Iterator[Answer]:
    """Fire for parts with 10 % of the step: the three most worth a change, and the largest."""
    account = case.step_account
    if is_the_recorders(account):
        yield unknown("recorders")
        return
    parts = list(account.part_list())
    runtime = _with_runtime(parts, account.step_time_ms)
    # Parts of a recording without steps have a share of the recorded time.
    nothing = sum(part.step_frac for part in parts if part.kind == "unrecorded")
    known = 1 - nothing if account.is_window else 1.0
    shown = [part for part in parts if _is_shown(part, known)]
    if not shown:
        yield case.below(max((part.time_ms for part in parts), default=0.0), PART_FRAC)
        return
    overview = case.optional.overview_page
    framework = "" if overview is None else key_of(overview.environment.framework)
    judged = [(part, _cause(part, case, framework, runtime)) for part in shown]
    judged.sort(key=lambda pair: -_worth(pair[0], pair[1][0], account) * pair[0].time_ms)
    largest = max(shown, key=lambda part: part.time_ms)
    for rank, (part, (cause, facts)) in enumerate(judged):
        if rank < FEW or part is largest:
            found = _finding(part, case, cause, facts)
            yield replace(found, evidence=(*found.evidence, *_evidence(part)))


def python_bound(case: Case) -> Answer:
    """Return why no part is Python's; those that are carry this rule's id (``largest_part``)."""
    if is_the_recorders(case.step_account):
        return unknown("recorders")
    kinds = case.rule.facts.parts
    parts = (part for part in case.step_account.part_list() if part.kind in kinds)
    most = max((part.step_frac for part in parts), default=0.0)
    return silent("no_python", cost_frac=most)


def _is_shown(part: AccountPart, known: float) -> bool:
    least = SOME_FRAC if part.kind in _CODE else PART_FRAC
    is_known = part.kind not in _OURS and part.name not in _UNKNOWN_OPS
    return is_known and part.step_frac >= max(known * least, LITTLE_FRAC / 2)


# The time in the row of a part, without the runtime around it.
_OWN_MS: Final = "own_ms"


def _with_runtime(parts: list[AccountPart], step_ms: float) -> float:
    """Add the time that the runtime spends around ops to them, and return its ratio to theirs."""
    ops = [part for part in parts if part.kind in _RUN]
    around = sum(part.time_ms for part in parts if part.kind == "runtime")
    whole = sum(part.time_ms for part in ops)
    for part in ops if whole else ():
        if around > whole:  # bursts and trends of the smaller share say nothing of all of it
            trends = ("every", "is_burst", "growth")
            part.facts = {name: fact for name, fact in part.facts.items() if name not in trends}
        part.facts = {**part.facts, _OWN_MS: part.time_ms}
        part.time_ms += around * part.time_ms / whole
        part.step_frac = part.time_ms / step_ms
        if isnan(part.alone_ms):
            part.alone_ms = part.typical_ms = part.time_ms
            part.most_ms = part.time_ms + around * (1 - part.time_ms / (whole + around))
    return around / whole if whole else 0.0


Facts = dict[str, float | str | None]


def _cause(
    part: AccountPart, case: Case, framework: str, runtime: float
) -> tuple[CauseEntry, Facts]:
    facts = part_facts(part, case, framework, runtime)
    of_parts = (cause for cause in causes().values() if cause.facts == "part")
    return next(one for one in of_parts if first_failure(one.when, facts) is None), facts


_HALF: Final = {"f16": "float16", "bf16": "bfloat16"}


def part_facts(part: AccountPart, case: Case, framework: str, runtime: float = 0.0) -> Facts:
    """Return the facts that conditions and texts of a part's cause read.

    Args:
        part: A row of the account.
        case: Has the account.
        framework: Key of the recorded framework.
        runtime: Time of the runtime around ops, for each ms of these.
    """
    account, host = case.step_account, case.optional.host_activity
    overview = case.optional.overview_page
    serves = overview is not None and overview.environment.task_type == "Inference"
    first = part.text("first")
    call = first if part.text("first_kind") in ("library", "framework") else ""
    is_call = bool(call) and part.number("first_frac") >= HALF_FRAC
    if not is_call and (known := _known_call(part)):
        call, is_call = known, True
    settings = {} if overview is None else overview.environment.settings
    run_us = 1000 * part.time_ms / part.runs if part.runs >= DOZENS else inf
    is_torch_op = framework == "pytorch" and part.kind == "op" and not part.on_device
    facts: Facts = {
        "kind": part.kind,
        "threads": settings.get(names.TORCH_THREADS) if is_torch_op else None,
        "short_run_us": run_us if is_torch_op and run_us < SHORT_HOST_OP_US else None,
        "name": part.name,
        "function": part.function,
        "call": call or part.function,
        "op": part.op,
        "data_type": part.text("data_type") or "-",
        "made": _largest_shares(part),
        "calls_python": 1.0 if _calls_python(part) else None,
        "unplaced": phrase("unplaced") if part.kind in _HAS_LINE and not part.file else None,
        "meanwhile": phrase("meanwhile") if _has_ops(account, overview) else None,
        "runtime_more": phrase("runtime_more") if runtime > 1 else None,
        "within": part.within,
        "runs": round(part.runs) if part.runs >= 2 else None,
        "growth": part.number("growth"),
        "copies_argument": float(part.has(COPIES_ARGUMENT)),
        "replicated": float(part.has(ON_EACH_DEVICE)),
        "waits_for_lock": float(waits_for_lock(part)),
        "waits": float(waits_for_others(part)),
        "waits_for_requests": float(waits_for_requests(part, account, serves)),
        "dispatches_model": float(dispatches(account, part.function, part.time_ms)),
        "is_model": float(is_model(part.function)),
        "is_product": float(part.name in PRODUCTS),
        "is_unusual": float(part.name in UNUSUAL),
        "is_update": float(is_update(part.name)),
        "is_mostly_runtime": float(
            runtime > 1 and part.kind == "op" and not part.holds("is_program")
        ),
        "is_dispatched_whole": float(_is_compiled(host)),
        "compiled_function": _compiled(host, part) if part.kind == "compile" else None,
    }
    if is_update(part.name):
        optimizer = optimizer_of(part.name)
        way = "update_fused" if has_fused(optimizer) else "update_compiled"
        facts |= {
            "faster_update": phrase(way, optimizer=optimizer),
            "updates_tables": part.step_frac if _has_table_gradient(account) else None,
        }
    half = _HALF.get(part.text("data_type"), part.text("data_type"))
    # CPUs that compute in bfloat16 are many, in float16 few.
    emulated = settings.get(names.TORCH_EMULATES, "float16").split(", ")
    if half in emulated and part.name in PRODUCTS and not part.on_device:
        facts["emulated_type"] = half
    scoped = part.name if part.name in SCOPES else part.op or part.name
    family = family_of(scoped, call if is_call else "")
    if family is not None and part.kind == "eager":
        is_most = part.number("first_frac") >= HALF_FRAC
        facts["is_mostly_work"] = float(is_most and family.kind == "work")
    elif family is not None and (part.kind in ("op", *_CODE) or is_call):
        facts |= {
            "family": family.id,
            "family_kind": family.kind,
            "family_say": family.say,
            "better": family.better.get(framework) or family.better.get("any") or None,
            "applies": family.applies or None,
        }
    return facts


def _has_table_gradient(account: StepAccount) -> bool:
    """Return whether any op of the step is the dense gradient of an embedding table."""
    known = (family_of(one.name) for one in account.owners.records() if one.kind == "op")
    return any(one is not None and one.id == "embedding_gradient" for one in known)


def _known_call(part: AccountPart) -> str:
    """Return a call that the catalogue knows and most of a part is for.

    The rest of a function's own Python makes the arguments of such a call.
    """
    if part.kind not in (*_CODE, "framework"):
        return ""
    large = _made_of(part, LARGE_FRAC if part.kind in _CODE else HALF_FRAC)
    return next((name for name in large if family_of("", name) is not None), "")


def _made_of(part: AccountPart, least_frac: float) -> list[str]:
    return [one.name for one in part.shares if one.role == MADE and one.share_frac >= least_frac]


def _calls_python(part: AccountPart) -> bool:
    """Return whether the op that a part is mostly made of calls Python."""
    families = map(family_of, _made_of(part, HALF_FRAC))
    return any(one is not None and one.id == "python_call" for one in families)


def _largest_shares(part: AccountPart) -> str:
    """Return the first shares of what a part is made of, as many as a line has room for.

    A part that is nearly all of one op or range is not divided: its place or title names that.
    """
    made = [(one.name, one.share_frac) for one in part.shares if one.role == MADE]
    if len(made) == 1 and _is_the_part(part, made[0][0]):
        return ""
    fitting = (listed(made, count) for count in range(len(made), 0, -1))
    return next((text for text in fitting if len(text) <= LIST_CHARS), "")


def _has_ops(account: StepAccount, overview: OverviewPage | None) -> bool:
    """Return whether ops or a device were recorded: else what computes is unknown."""
    is_python_alone = overview is not None and overview.bound_by == "unknown"
    return not is_python_alone or any(part.kind in _RUN for part in account.part_list())


def _is_the_part(part: AccountPart, made: str) -> bool:
    """Return whether what a part is made of is what its place or title names."""
    if part.kind == "op":
        return made.startswith(part.op or part.name)
    return made in (part.name or part.kind, part.kind)


def _is_compiled(host: HostActivity | None) -> bool:
    """Return whether a step is known to dispatch few ops or compiled functions."""
    return (
        host is not None and host.step_count > 0 and 0 < dispatched(host) < dispatch_threshold(host)
    )


def _compiled(host: HostActivity | None, part: AccountPart) -> str | None:
    """Return the function that most of the compilation is for; None where none is known."""
    least = HALF_FRAC * part.time_ms
    calls = () if host is None else host.calls.records()
    built = [one for one in calls if one.built > 0 and one.build_ms >= least]
    return max(built, key=lambda one: one.build_ms).function if built else None


def _worth(part: AccountPart, cause: CauseEntry, account: StepAccount) -> float:
    """Return the share of a part that it is ranked by: small where it is likely to be needed."""
    worth, typical = cause.worth, part.typical_ms
    if part.kind == "op" and part.runs >= MANY and typical >= 0:
        # An op that every step runs often, and that few steps spend time in, was interrupted.
        worth *= min(typical / part.alone_ms, 1.0) if part.alone_ms > 0 else 1.0
    elif part.kind == "framework" and _is_rare(part) and typical >= 0:
        worth *= min(typical / part.time_ms, 1.0)  # so was a dispatch that is long in few steps
    is_beside = account.is_window and part.kind == "unrecorded"
    # Time in which nothing was recorded, outside of steps, and what was compiled once.
    return worth * PART_FRAC if is_beside or _is_once(part, account) else worth


def _is_once(part: AccountPart, account: StepAccount) -> bool:
    """Return whether it is compilation that only the first of several steps has."""
    is_first = part.number("first_step_frac") >= HALF_FRAC
    return part.kind == "compile" and account.step_count > 1 and is_first


def _is_rare(part: AccountPart) -> bool:
    """Return whether most of its time is in few steps, in no rhythm."""
    return part.holds("is_burst") and not part.number("every") > 1


def _is_interrupted(part: AccountPart) -> bool:
    """Return whether few steps, in no rhythm, spend most of the time of what every step does.

    Another program that takes the processor hits whatever runs just then.
    """
    if part.kind in _CODE and _is_rare(part) and part.step_frac < PART_FRAC:
        return True
    return (
        part.runs >= MANY
        and part.number("steps_frac") < HALF_FRAC
        and 0 < part.typical_ms < HALF_FRAC * part.alone_ms
        and not part.number("every") > 1
    )


def _severity(
    part: AccountPart, cause: CauseEntry, saving: float, account: StepAccount
) -> Severity:
    is_quiet = cause.severity not in ("overhead", "large") or account.is_window
    if is_quiet or _is_once(part, account) or _is_interrupted(part):
        return "info"
    loss = severity_of(saving, account.step_time_ms)
    return "info" if cause.severity == "large" and loss != "high" else loss


def _finding(part: AccountPart, case: Case, cause: CauseEntry, facts: Facts) -> Finding:
    account, effect = case.step_account, effects()[cause.effect]
    saving = saving_of(account, part, effect, cause.expected)
    # Without steps it is unknown what of the rest belongs to the part and would go with it.
    most = max(part.time_ms, saving.expected_ms) if account.is_window else case.step_ms
    found = case.match(
        cause.id,
        saving.expected_ms,
        cost_ms=part.number(_OWN_MS) if _OWN_MS in part.facts else part.time_ms,
        low_ms=saving.low_ms,
        high_ms=min(saving.high_ms, most),
        severity=_severity(part, cause, saving.expected_ms, account),
        place=place_of_wait(part, account) or place_of_part(part),
        details=_details(part, account),
        more=facts,
    )
    found = replace(
        found,
        assumption=effect.assumption,
        measured={
            **found.measured,
            "part_ms": part.time_ms,
            "step_frac": part.step_frac,
            "worth_ms": _worth(part, cause, account) * saving.expected_ms / cause.expected,
            "input_frac": 1.0 if part.kind == "input" else part.number("input_frac"),
        },
    )
    if cause.id == _IDLE_SERVICE:
        return without_saving(found, phrase("waits_for_requests"))
    if part.kind == "unrecorded" and not account.busy_ms > 0 and part.step_frac >= 1 - LITTLE_FRAC:
        return without_saving(found, phrase("nothing_recorded"))
    return found


_IDLE_SERVICE: Final = "part-idle-service"


def _details(part: AccountPart, account: StepAccount) -> tuple[str, ...]:
    """Return the names that only ``explain`` lists."""
    other = maker(account) if part.kind in ("input", *_CODE) else None
    rival = next((one for one in account.rivals.records() if one.loop_waits), None)
    rows: list[tuple[str, str, ShareRow | RivalRow, float]] = [
        (one.role, one.name, one, one.share_frac) for one in part.shares
    ]
    rows += [(one.thread, one.call, one, one.busy_frac) for one in (other, rival) if one]
    return tuple(dict.fromkeys(_detail(*row) for row in rows))


def _detail(role: str, name: str, at: ShareRow | RivalRow, frac: float) -> str:
    site = brief_place(at.function, at.file, at.line or 0).removeprefix(name).strip()
    return " ".join(filter(None, (f"{role}:", name, site, share_words(frac))))


def _evidence(part: AccountPart) -> Iterator[Ref]:
    # A copy that an op makes and the copies of a device have one name.
    yield Ref("step_account", f"kind={part.kind}", rows=(part.name,) if part.name else ())
    if part.holds("is_burst"):
        yield Ref("overview_page", "step_table.step_time_ms")
    at = f"{part.file}:{part.line}" if part.file and part.line else ""
    if found := at if part.kind in _CODE else part.op or part.text("first"):
        yield Ref("trace_viewer", found)


# ---------------------------------------------------------------------------- growth


def growing_steps(case: Case) -> Answer:
    """Fire when every one of at least four steps runs more ops than the one before."""
    account, grows = case.step_account, case.step_account.growth
    if account.step_count <= FEW or not account.has_events:
        return unknown("few_steps_with_ops")
    if grows is None:
        return silent("no_growth")
    step = case.step_ms
    each = (grows.last_ops - grows.first_ops) / (account.step_count - 1)
    # It grew before the recording began as well, up to all but the steady rest.
    low = step * (1 - grows.first_ops / grows.mean_ops)
    high = step * (1 - (grows.first_ops % each) / grows.mean_ops)
    owner = next((one for one in account.owners.records() if one.name == grows.op), None)
    return case.match(
        "growing-steps",
        (low + high) / 2,
        low_ms=low,
        high_ms=high,
        place=None
        if owner is None
        else Place(owner.function, owner.file, owner.line or 0, owner.caller, op=grows.op),
        evidence=(Ref("step_account", "growth"), Ref("trace_viewer", grows.op)),
        first_ops=grows.first_ops,
        last_ops=grows.last_ops,
        more_ops_per_step=each,
        growing_op=grows.op,
    )


# ---------------------------------------------------------------------------- recomputation

# What JAX puts into the names of what it computes again.
_AGAIN: Final = "rematted_computation"


def recomputed_activations(case: Case) -> Answer:
    """Fire when ops that are computed again for the backward pass take 5 % of the step."""
    account, host = case.step_account, case.optional.host_activity
    ops = [one for one in account.owners.records() if one.kind == "op"]
    again = [one for one in ops if _AGAIN in one.name]
    of_torch = None if host is None else host.recomputed
    if of_torch is None and not any("jit(" in one.name or "aten/" in one.name for one in ops):
        return unknown("no_recomputed_names")
    spent = sum(one.time_ms for one in again) if of_torch is None else of_torch.ms
    if spent < SOME_FRAC * case.step_ms:
        return case.below(spent)
    first = of_torch.first if of_torch else max(again, key=lambda one: one.time_ms).name
    # The runtime's work around ops goes with them.
    around = sum(one.time_ms for one in account.owners.records() if one.kind == "runtime")
    whole = sum(one.time_ms for one in ops)
    high = spent * (1 + around / whole if whole else 1)
    found = case.match(
        "recomputed-activations",
        cost_ms=spent,
        high_ms=high,
        severity="info",
        place=_recomputed_place(account, again),
        evidence=(
            Ref("host_activity", "recomputed")
            if of_torch
            else Ref("step_account", "owners", rows=(first,)),
            Ref("trace_viewer", first),
        ),
        recomputed_ms=spent,
        recomputed_by="torch.utils.checkpoint" if of_torch else "jax.checkpoint",
        recomputed_op=first,
        kind="op",
    )
    measured = {"part_ms": spent, "worth_ms": causes()["recomputed-activations"].worth * high}
    return replace(found, measured={**found.measured, **measured})


def _recomputed_place(account: StepAccount, again: list[OwnerRow]) -> Place | None:
    """Return the line that most of the largest family comes from; None where it is unknown."""
    families: dict[str, float] = {}
    for one in again:
        families[one.family] = families.get(one.family, 0.0) + one.time_ms
    largest = max(families, key=lambda name: families[name], default="")
    for part in account.part_list():
        if part.name == largest and part.file and part.line and part.holds("is_source"):
            return Place(part.function, part.file, part.line, part.caller, op=part.op)
    return None
