"""The evidence of one finding, dense: what its part is made of, how often, how fast, and why.

A reader who sees nothing else, a person or a model, shall be able to name the cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import nan
from typing import TYPE_CHECKING, Any, Final

from stepscope.advice.catalogue import causes, effects
from stepscope.columns import pivot
from stepscope.result import Advice, Finding, Result
from stepscope.session import Session
from stepscope.session.about import source_lines
from stepscope.surfaces.agent.reply import WHOLE, WIDE, Data, data
from stepscope.surfaces.format import place_text

if TYPE_CHECKING:
    from stepscope.analysis.step_account import AccountPart, OwnerRow, StepAccount

# Rows of a table: enough for a cause, and few enough for all tables within the budget.
_OPS, _LINES, _CALLS, _SHARES, _SILENT, _STATS = 6, 6, 5, 8, 6, 8
# Lines of source before and after the named one.
_AROUND: Final = 6
# A wait that is no part of a step is ignored below this share of it.
_SHOWN_FRAC: Final = 0.005
_NOTHING: Final = "unrecorded"
# Stats of an event that describe its computation: by a part of their names.
_TELLING: Final = (
    "shape",
    "dims",
    "dtype",
    "type",
    "strides",
    "long_name",
    "flops",
    "bytes",
    "grid",
    "block",
)
_VALUE_LENGTH: Final = 160


def evidence(session: Session, advice: Advice, finding: Finding, source: str) -> list[Data]:
    """Return the tables of a finding's evidence, the most telling first.

    Args:
        session: Of the recording.
        advice: All of it.
        finding: One of its findings.
        source: A folder with the program's files; "" to show none.
    """
    account: Any = _result(session, "step_account")
    part = _part(account, finding)
    tables = [
        data("source", ("line", "indent", "text"), list(_source(finding, source)), width=WIDE),
        data("steadiness", ("what", "value"), list(_steadiness(account, part))),
        data("made_of", ("role", "name", "share_frac", "at"), list(_shares(part))),
        data("ops", _OP_COLUMNS, list(_ops(session, account, part, finding))),
        data("op_arguments", ("op", "argument", "value"), list(_arguments(session, part, finding)),
             width=_VALUE_LENGTH),
        data("python", ("function", "at", "calls_per_step", "self_ms", "total_ms"),
             list(_python(session, finding))),
        data("compiled_functions", _CALL_COLUMNS, list(_calls(session))),
        data("ruled_out", ("rule", "outcome", "by"), _ruled_out(advice, finding), width=WIDE),
        data("experiment", ("do",), [(text,) for text in _experiment(finding)], width=WHOLE),
    ]  # fmt: skip
    return tables


def _result(session: Session, tool: str) -> Result | None:
    if session.available(tool) is not None:
        return None
    return session.run_without_findings(tool)


def _part(account: StepAccount | None, finding: Finding) -> AccountPart | None:
    """Return the part of the account that a finding is about; None without one."""
    time, kind = finding.measured.get("part_ms"), finding.measured.get("kind")
    if account is None or time is None:
        return None
    rows = account.part_list()
    alike = [one for one in rows if one.kind == kind]
    # The runtime's work around ops was added to their time.
    named = [one for one in alike if one.name == finding.measured.get("name")] or alike
    return min(named, key=lambda one: abs(one.time_ms - float(time)), default=None)


def _source(finding: Finding, folder: str) -> Iterator[tuple[Any, ...]]:
    """Yield the lines around a finding's place, of a regular file below a chosen folder."""
    place = finding.place
    if not folder or place is None or not place.file or not place.line:
        return
    for number, text in source_lines(folder, place.file, place.line, _AROUND):
        mark = ">" if number == place.line else ""
        code = text.lstrip()
        yield f"{mark}{number}", len(text) - len(code), code


def _steadiness(account: StepAccount | None, part: AccountPart | None) -> Iterator[tuple[str, Any]]:
    """Yield how a part behaves from step to step."""
    if account is None or part is None:
        return
    facts = {
        "steps": account.step_count,
        "step_ms": account.step_time_ms,
        "part_ms": part.time_ms,
        "saves_alone_ms": part.alone_ms,
        "in_a_typical_step_ms": part.typical_ms,
        "runs_per_step": part.runs,
        "steps_with_it_frac": part.number("steps_frac"),
        "last_third_by_first": part.number("growth"),
        "every_nth_step": part.number("every"),
        "data_type": part.text("data_type"),
        "within": part.within,
    }
    yield from ((name, value) for name, value in facts.items() if value and value == value)


def _shares(part: AccountPart | None) -> Iterator[tuple[Any, ...]]:
    for share in [] if part is None else part.shares[:_SHARES]:
        at = _at(share.function, share.file, share.line)
        yield share.role, share.name, share.share_frac, "" if at == share.name else at


def _at(function: str, file: str, line: int | None) -> str:
    name = file.replace("\\", "/").rpartition("/")[2]
    at = f"{name}:{line}" if name and line else name
    return " ".join(filter(None, (at, function)))


_OP_COLUMNS: Final = (
    "op", "type", "at", "runs_per_step", "ms_per_step", "us_each", "gflops", "gb_per_s",
    "of_roofline_frac", "bound_by",
)  # fmt: skip


def _ops(
    session: Session, account: StepAccount | None, part: AccountPart | None, finding: Finding
) -> Iterator[tuple[Any, ...]]:
    """Yield the largest ops of a part with what they reach of the device."""
    types = _rows_by(session, "framework_op_stats", "ops", "operation")
    roofs = _rows_by(session, "roofline_model", "ops", "operation")
    for owner in _owners(account, part, finding)[:_OPS]:
        op, roof = types.get(owner.name), roofs.get(owner.name)
        runs = owner.stretches
        yield (
            owner.name,
            (owner.family or owner.kind) if op is None else op.type,
            _at(owner.function, owner.file, owner.line),
            runs,
            owner.time_ms,
            owner.time_ms * 1000 / runs if runs > 0 else nan,
            nan if op is None else op.flop_rate_gflops,
            nan if op is None else op.memory_bw_gbps,
            nan if roof is None else roof.roofline_efficiency_frac,
            "" if roof is None else roof.bound_by,
        )


def _owners(
    account: StepAccount | None, part: AccountPart | None, finding: Finding
) -> list[OwnerRow]:
    """Return what runs in a part: the owners of its family, or those of its line."""
    if account is None:
        return []
    place = finding.place
    rows = [
        one
        for one in account.owners.records()
        if one.name and one.step_frac >= _SHOWN_FRAC
        if part is None or part.name in (one.family, one.name) or _is_at(one, place)
        if one.kind != _NOTHING or (part is not None and part.kind == _NOTHING)
    ]
    return sorted(rows, key=lambda one: -one.time_ms)


def _is_at(owner: OwnerRow, place: Any) -> bool:
    if place is None or not owner.file:
        return False
    return owner.function == place.function and owner.file.endswith(place.file)


def _rows_by(session: Session, tool: str, table: str, key: str) -> Mapping[str, Any]:
    result = _result(session, tool)
    rows = () if result is None else getattr(result, table, ())
    records: Callable[[], Iterable[Any]] | None = getattr(rows, "records", None)
    if records is None:
        return {}
    found: dict[str, Any] = {}
    for row in records():
        found.setdefault(getattr(row, key), row)
    return found


def _arguments(
    session: Session, part: AccountPart | None, finding: Finding
) -> Iterator[tuple[Any, ...]]:
    """Yield shapes, types and sizes of the longest run of the part's largest op."""
    op = part.op if part is not None else (finding.place.op if finding.place else "")
    if not op:
        return
    for host in session.profile.hosts:
        row = pivot.longest_event(host.space, op)
        if row is None:
            continue
        told = [
            (op, name, value)
            for name, value in pivot.event_stats(host.space, row)
            if any(word in name.lower() for word in _TELLING)
        ]
        yield from told[:_STATS]
        return


def _python(session: Session, finding: Finding) -> Iterator[tuple[Any, ...]]:
    """Yield functions of the program, those of the finding's file first: calls and times."""
    activity: Any = _result(session, "host_activity")
    if activity is None:
        return
    file = finding.place.file if finding.place else ""
    rows = sorted(
        activity.python.records(),
        key=lambda one: (bool(file) and not one.file.endswith(file), -one.total_ms),
    )
    for one in rows[:_LINES]:
        yield one.function, _at("", one.file, one.line), one.calls, one.self_ms, one.total_ms


_CALL_COLUMNS: Final = (
    "function", "calls_per_step", "traced_per_step", "traces", "eager_per_step", "ms", "build_ms",
    "versions_differ_in", "of",
)  # fmt: skip


def _calls(session: Session) -> Iterator[tuple[Any, ...]]:
    """Yield compiled functions with what caused each trace."""
    activity: Any = _result(session, "host_activity")
    rows = [] if activity is None else list(activity.calls.records())
    for one in sorted(rows, key=lambda one: -(one.time_ms + one.build_ms))[:_CALLS]:
        yield (
            one.function, one.calls, one.built, one.traces, one.eager, one.time_ms, one.build_ms,
            one.differs, one.differs_at,
        )  # fmt: skip


def _ruled_out(advice: Advice, finding: Finding) -> list[tuple[str, str, str]]:
    """Return the silent rules that could explain a finding, with the number that rules them out."""
    subject = next((one.subject for one in advice.checked if one.rule == finding.rule), "")
    silent = [one for one in advice.checked if one.reason and one.outcome in ("silent", "unknown")]
    silent.sort(
        key=lambda one: (
            one.rule not in _causes_of(finding.rule),
            one.outcome != "silent",
            not any(sign.isdigit() for sign in one.reason),
            one.subject != subject,
        )
    )
    rules: dict[tuple[str, str], list[str]] = {}
    for one in silent:
        rules.setdefault((one.said, one.reason), []).append(one.rule)
    return [(", ".join(ids), *why) for why, ids in list(rules.items())[:_SILENT]]


def _causes_of(rule: str) -> frozenset[str]:
    from stepscope.advice import RULES

    named = next((one.symptom_of for one in RULES.facts if one.id == rule), ())
    return frozenset(named) | {one.id for one in RULES.facts if rule in one.cause_of}


def _experiment(finding: Finding) -> Iterator[str]:
    """Yield the cheapest experiment that decides whether the change pays."""
    cause = causes().get(finding.cause)
    effect = effects().get(cause.effect) if cause is not None and cause.effect else None
    if effect is not None and effect.experiment:
        place = finding.place
        function = "" if place is None else place.call or place.function
        yield effect.experiment.replace("{place}", function or "this part")


def digest(session: Session, advice: Advice, most_words: int) -> list[Data]:
    """Return all findings as one text, the most important first, within a number of words."""
    lines: list[tuple[str]] = []
    for number, one in enumerate(advice.findings, 1):
        code = next(iter(one.code.values()), "").partition("\n")[0]
        action = code or next(iter(one.actions), "")
        told = (one.saving_text, place_text(one.place), one.message, one.why)
        text = f"finding:{number} {one.title} — " + " · ".join(part for part in told if part)
        lines.append((f"{text} → {action}" if action else text,))
    account: Any = _result(session, "step_account")
    for part in sorted(_parts(account), key=lambda one: -one.time_ms)[:_OPS]:
        at = _at(part.function, part.file, part.line)
        lines.append(
            (f"part {part.kind} {part.name} {100 * part.step_frac:.0f} %: {at or part.op}",)
        )
    rules: dict[str, list[str]] = {}
    for rule in advice.checked:
        if rule.outcome == "silent" and any(sign.isdigit() for sign in rule.reason):
            rules.setdefault(rule.reason, []).append(rule.rule)
    lines += [(f"ruled out: {', '.join(ids)} — {reason}",) for reason, ids in rules.items()]
    return [data("advice", ("text",), list(_within(lines, most_words)), width=WHOLE)]


def _parts(account: StepAccount | None) -> list[AccountPart]:
    return [] if account is None else account.part_list()


def _within(lines: list[tuple[str]], most_words: int) -> Iterator[tuple[str]]:
    words = 0
    for line in lines:
        words += len(line[0].split())
        if words > most_words:
            return
        yield line
