"""Findings in words: the texts of their causes, filled with facts; the same for every surface."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from stepscope.advice.catalogue import CauseEntry, causes, entries, texts, threshold
from stepscope.advice.results import Results
from stepscope.advice.step_time import StepTime
from stepscope.field_names import label_of, suffix_of
from stepscope.quantities import roughly, share_words, size_words, time_words, written_out
from stepscope.registry import ChangeClass, Silence, Unknown
from stepscope.result import Finding, Place, Ref, Result, columns_of, tables_of
from stepscope.tables.core.thresholds import FEW, LITTLE_FRAC, NAME_CHARS, NEARLY_ALL_FRAC
from stepscope.verdicts.sentences import chosen, key_of

if TYPE_CHECKING:
    from stepscope.analysis.overview_page import OverviewPage
    from stepscope.tables.recording.evidence import Evidence

Value = float | str | None
#: Causes of the catalogue whose remedy is that of what causes them in turn.
ONLY_SYMPTOM: Final = ("input-bound", "idle-device", "idle-host-waits")

_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
_CLAUSE: Final = re.compile(r"\[([^][]*\{\w+\}[^][]*)\]")
_OF_UNITS: Final = " %mµs"
_LIST: Final = ", "
_BASES: Final = {"whole": "the", "each": "each", "per": "per"}


# ---------------------------------------------------------------------------- values


def worded(name: str, value: Value) -> str:
    """Return a fact as a text prints it: its name's ending is its unit; "" where it is unknown."""
    if value is None or value == "" or value != value:
        return ""
    if isinstance(value, str):
        items = value.replace(".<locals>", "").split(_LIST)
        if any(" " in item for item in items):
            return _LIST.join(items)
        shown = _LIST.join(_shortened(item, NAME_CHARS) for item in items[:FEW])
        return shown + (" …" if len(items) > FEW else "")
    if name.endswith("_ms"):
        return time_words(value)
    if name.endswith("_us"):
        return time_words(value / 1000)
    if name.endswith("_frac"):
        return share_words(value)
    if name.endswith("_bytes") or name.startswith("bytes_"):
        return size_words(value)
    return f"{value:,.0f}" if value >= 100 or float(value).is_integer() else f"{value:.3g}"


def _shortened(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    tail = (length - 1) // 2
    return f"{text[: length - 1 - tail]}…{text[-tail:]}"


def first_names(names: Iterable[str], most: int | None = None) -> str:
    """Return the first of some names, as many as a sentence holds or as there is room for."""
    return _LIST.join(islice(names, FEW if most is None else most))


def listed(shares: Iterable[tuple[str, float]], most: int | None = None) -> str:
    """Return the first names with their shares: "DecodeJpeg 76 %, Cast 20 %"."""
    return first_names((f"{name} {share_words(share)}" for name, share in shares), most)


def brief_place(function: str, file: str, line: int | None) -> str:
    """Return a function with its line, without the folders of the file: "step (train.py:12)"."""
    name = file.replace("\\", "/").rpartition("/")[2]
    return f"{function} ({name}:{line})" if name and line else function


# ---------------------------------------------------------------------------- reasons


def silent(key: str, **facts: Value) -> Silence:
    """Return why a problem is not there, by the key of its text."""
    return Silence(_filled(texts("silent")[key], facts))


def unknown(key: str, **facts: Value) -> Unknown:
    """Return why a recording cannot tell, by the key of its text."""
    return Unknown(_filled(texts("unknown")[key], facts))


def not_recorded(overview: OverviewPage, *kinds: Evidence) -> Unknown | None:
    """Return why the recording cannot tell: the first of these kinds that it lacks, if any.

    TensorFlow's eager ops are recorded as the calls that dispatch them, and not as ops.
    """
    missing = next((kind for kind in kinds if kind not in overview.recorded), None)
    is_dispatched = missing == "ops" and "dispatch" in overview.recorded
    key = "dispatched" if is_dispatched else missing
    return None if key is None else Unknown(texts("lacking")[key])


def phrase(key: str, **facts: Value) -> str:
    """Return a part of a sentence, by the key of its text."""
    return _filled(texts("label")[key], facts)


def below(cost_ms: float, step_ms: float, limit_frac: float) -> Silence:
    """Return that a cost is too small a share of the step."""
    share = cost_ms / step_ms if step_ms > 0 else 0.0
    return silent("below", cost_frac=share, limit_frac=limit_frac)


def not_met(failure: tuple[str, str], facts: Mapping[str, Value]) -> Silence:
    """Return the comparison of a condition that failed."""
    name, limit = failure
    label = texts("label").get(name) or label_of(name)
    at = None if not limit else threshold(limit)
    value = facts.get(name)
    unit = name if not limit or not isinstance(value, str) else ""
    return silent(
        "compared" if at is not None else "otherwise",
        label=label,
        value=worded(name, value) or texts("label")["none"],
        limit=None if at is None else worded(unit, at),
    )


# ---------------------------------------------------------------------------- texts


def _filled(text: str, facts: Mapping[str, Value]) -> str:
    """Return a text with its facts; clauses in brackets go where one of theirs is unknown."""

    def clause(found: re.Match[str]) -> str:
        names = _PLACEHOLDER.findall(found[1])
        return found[1] if all(worded(name, facts.get(name)) for name in names) else ""

    whole = _CLAUSE.sub(clause, text)
    return _PLACEHOLDER.sub(
        lambda found: worded(found[1], facts[found[1]]) if found[1] in facts else found[0], whole
    )


def facts_of(finding: Finding, time: StepTime) -> dict[str, Value]:
    """Return what the texts of a finding may name."""
    place = finding.place or Place()
    cost_ms, whole_ms = _cost_ms(finding), time.whole_ms
    return {
        "step": None if whole_ms is None else time_words(whole_ms),
        "time": None if cost_ms is None else time_words(cost_ms),
        "share": None if cost_ms is None or not whole_ms else share_words(cost_ms / whole_ms),
        **base_words(is_recording=finding.saving_per == "recording"),
        "function": place.function,
        "call": place.call,
        "op": place.op,
        "family": place.family,
        "site": brief_place(place.function, place.file, place.line) or None,
        "caller": place.caller,
        **finding.measured,
    }


def _cost_ms(finding: Finding) -> float | None:
    """Return what a finding costs, as its sentence has it; None unknown."""
    measured = finding.measured
    cost = measured.get("cost_ms", measured.get("part_ms", finding.saving_ms))
    return None if cost is None else float(cost)


def base_words(*, is_recording: bool) -> dict[str, Value]:
    """Return how texts name what shares are of: the step, or the recording without one."""
    kind, named = "recording" if is_recording else "step", texts("label")
    return {name: named[f"{word}_{kind}"] for name, word in _BASES.items()}


def note_of(time: StepTime) -> str:
    """Return a sentence on the step that savings are stated on; "" if it is the recorded one."""
    if time.recorder_factor == 1.0 or time.step_ms is None:
        return ""
    undisturbed_ms = time.step_ms * time.recorder_factor
    return phrase("undisturbed", undisturbed_ms=undisturbed_ms, recorded_ms=time.step_ms)


def reason_of(answer: Silence | Unknown, *, is_recording: bool) -> str:
    """Return why a rule has no finding, in words."""
    return written_out(_filled(answer.reason, base_words(is_recording=is_recording)))


def complete(
    findings: Iterable[Finding], results: Mapping[str, Result], time: StepTime
) -> tuple[Finding, ...]:
    """Return the findings, in order, with all their texts."""
    framework = framework_of(results)
    whole_ms = None if time.whole_ms is None else time.whole_ms * time.recorder_factor
    found = []
    for finding in findings:
        whole = _of_framework(finding, framework)
        cause = causes().get(whole.cause)
        if cause is not None:
            whole = _with_texts(whole, cause, framework, time)
        whole = replace(
            whole,
            saving_text=_saving(whole, whole_ms),
            evidence=tuple(
                replace(ref, words=_evidence_words(ref, results.get(ref.tool)))
                for ref in whole.evidence
            ),
        )
        found.append(_plain(whole))
    return tuple(_fixed_by(found))


def _with_texts(finding: Finding, cause: CauseEntry, framework: str, time: StepTime) -> Finding:
    facts = facts_of(finding, time)

    def text(template: str) -> str:
        return _filled(chosen(template, framework), facts).strip()

    fixes = cause.fix or {}
    first = fixes.get(framework) or fixes.get("any", "")
    if finding.actions:  # what its rule knows of these very facts
        actions = finding.actions
    else:
        plain = (
            _filled(one, facts) for one in (first, *(chosen(a, framework) for a in cause.also))
        )
        # A change that the family of ops has for no framework but another is left out.
        actions = tuple(one for one in plain if one and not _PLACEHOLDER.fullmatch(one))
    entry = entries().get(finding.rule)
    return replace(
        finding,
        title=finding.title or text(cause.title),
        message=finding.message or text(cause.message),
        why=text(cause.why),
        actions=actions,
        code={name: _filled(code, facts) for name, code in cause.code(framework).items()},
        wrong_when=finding.wrong_when or text(cause.wrong),
        threshold=finding.threshold or ("" if entry is None else entry.fires),
    )


def _of_framework(finding: Finding, framework: str) -> Finding:
    """Return a finding whose actions, code and doubts are for one framework."""
    spoken = (chosen(action, framework) for action in finding.actions)
    code = finding.code
    if framework and len(code) > 1:  # one entry is of a library that others use, too
        code = {name: lines for name, lines in code.items() if name == framework}
    return replace(
        finding,
        actions=tuple(action for action in spoken if action),
        code=dict(code),
        wrong_when=chosen(finding.wrong_when, framework),
    )


def framework_of(results: Mapping[str, Result]) -> str:
    """Return the key of the recorded framework; "" where it is unknown."""
    overview = Results(results).optional.overview_page
    return "" if overview is None else key_of(overview.environment.framework)


def _fixed_by(findings: list[Finding]) -> list[Finding]:
    """Return the findings with those that others fix referring to these.

    That is a symptom without a remedy of its own, or one with the change of an earlier finding.
    """
    first = {finding.rule: at for at, finding in reversed([*enumerate(findings)])}
    label, referring = texts("label"), []
    for here, finding in enumerate(findings):
        if finding.cause in ONLY_SYMPTOM:
            fixes = sorted(first[rule] for rule in finding.explained_by if rule in first)
            fixes = [at for at in fixes if findings[at].cause not in ONLY_SYMPTOM] or fixes
        else:
            alike = (at for at in range(here) if _is_same_change(findings[at], finding))
            fixes = [*islice(alike, 1)]
        if fixes:
            fixed = label["fixed_by" if len(fixes) == 1 else "fixed_by_several"]
            numbers = _LIST.join(str(at + 1) for at in fixes)
            finding = replace(finding, actions=(_filled(fixed, {"number": numbers}),), code={})
        referring.append(finding)
    return referring


def _is_same_change(one: Finding, other: Finding) -> bool:
    """Whether two findings have one fix: words alone may be about two places."""
    has_code = bool(one.code) and one.code == other.code
    is_same = has_code or one.rule in other.explained_by
    return is_same and one.actions[:1] == other.actions[:1]


def _plain(finding: Finding) -> Finding:
    """Return the finding with large numbers written out."""
    return replace(
        finding,
        title=written_out(finding.title),
        message=written_out(finding.message),
        why=written_out(finding.why),
        actions=tuple(map(written_out, finding.actions)),
        details=tuple(map(written_out, finding.details)),
    )


# ---------------------------------------------------------------------------- savings


def _saving(finding: Finding, whole_ms: float | None) -> str:
    """Return what a finding saves: "saves 9.7-14 ms (62-91 %)", "saves ≥2 ms (5 %)".

    Args:
        finding: Complete but for this.
        whole_ms: The mean step, or the recording; None unknown.
    """
    label = texts("label")
    freed = finding.measured.get("saving_bytes")
    if finding.saving_ms is None and freed is not None:
        return _filled(label["frees"], {"saving_bytes": float(freed)})
    if finding.saving_ms is None:
        return label["no_saving"]
    least, most = finding.saving_low_ms, finding.saving_high_ms
    low = finding.saving_ms if least is None else min(finding.saving_ms, least)
    high = finding.saving_ms if most is None else max(finding.saving_ms, most)
    if whole_ms and high < LITTLE_FRAC * whole_ms:
        return label["nothing"]
    # Neighbours that may go with a part are no promise: a reader would take them for its own time.
    cost_ms = _cost_ms(finding) if "part_ms" in finding.measured else None
    part_ms = high if cost_ms is None else cost_ms
    is_open = high > part_ms
    if is_open and finding.severity == "info":  # nor is its least, where no change is known
        low = high = part_ms
    is_one = low >= NEARLY_ALL_FRAC * high or (whole_ms and low < LITTLE_FRAC * whole_ms)
    if is_one:
        low = high = min(high, max(low, part_ms))
    elif is_open:
        high = low
    amount = _between(roughly(low, high, whole_ms), roughly(high, most_ms=whole_ms))
    if whole_ms:
        shares = (share_words(min(one / whole_ms, 1.0)) for one in (low, high))
        amount += f" ({_between(*shares)})"
    if is_open and not is_one:
        amount = _filled(label["at_least"], {"amount": amount})
    mood = "saves" if finding.severity != "info" else "could_save"
    return _filled(label[f"{mood}_up_to" if is_one else mood], {"amount": amount})


def _between(low: str, high: str) -> str:
    """Return a range of two that have one unit: "1.8–3.6 ms"."""
    return high if low == high else f"{low.rstrip(_OF_UNITS)}–{high}"


def assumption_of(change: ChangeClass | None, finding: Finding) -> str:
    """Return what the range of a saving takes for granted; "" where none is promised."""
    return "" if finding.saving_ms is None or change is None else change.assumption


# ---------------------------------------------------------------------------- evidence


# Tables of which each row has the quantity whole: what holds of all is their mean.
_MEANS: Final = ("step_table", "workers")


def proved(finding: Finding, results: Mapping[str, Result]) -> Finding:
    """Return a finding without the references to figures that are none of its own."""
    if not finding.cause:  # of another package's rule
        return finding
    figures = [
        float(value) / (1e3 if name.endswith("_us") else 1)
        for name, value in finding.measured.items()
        if not isinstance(value, str)
    ]

    def is_proof(ref: Ref) -> bool:
        result = results.get(ref.tool)
        if result is None or not ref.what:
            return ref.tool == "trace_viewer"
        shown = figure_of(ref, result) if isinstance(result, Result) else None
        return shown is None or any(math.isclose(one, shown, rel_tol=1e-6) for one in figures)

    return replace(finding, evidence=tuple(filter(is_proof, finding.evidence)))


def figure_of(ref: Ref, result: Result) -> float | None:
    """Return the figure that a reference points to, times in ms; None if it points to no number.

    It is a field of the result, or the sum of a column over the rows that the page shows: the
    column that is named, or by which the table is sorted.
    """
    what, _, value = ref.what.partition("=")
    head, _, column = what.partition(".")
    tables = tables_of(result)
    holding = [head] if head in tables else [one for one in tables if what in tables[one].columns]
    if not holding:
        field: Any = result
        for name in what.split("."):
            field = field.get(name) if isinstance(field, Mapping) else getattr(field, name, None)
        return float(field) if isinstance(field, (int, float)) else None
    table = tables[holding[0]]
    if value or head == what in tables:
        order = columns_of(table.schema).items()
        column = next((name for name, (_, one) in order if one.sort), "")
    column = column or what
    named = table.rows_with(ref.rows) if ref.rows else range(len(table))
    values = table.cells(what) if value else ()
    cells = [
        cell
        for row, cell in enumerate(table.cells(column))
        if row in named and (not value or str(values[row]) == value)
    ]
    known = [float(cell) for cell in cells if isinstance(cell, (int, float)) and cell == cell]
    if not known:
        return None if any(isinstance(cell, str) for cell in cells) else math.nan
    whole = math.fsum(known) / (len(known) if head in _MEANS else 1)
    return whole / 1e3 if column.endswith("_us") else whole


def _evidence_words(ref: Ref, result: Result | None) -> str:
    """Return what a reference points to in words, and a share, which no other sentence has."""
    if not isinstance(result, Result):
        return ref.what
    figure = figure_of(ref, result) if ref.rows and ref.what.endswith("_frac") else None
    share = "" if figure is None or math.isnan(figure) else f" {share_words(figure)}"
    return _what_words(ref, result) + share


def _what_words(ref: Ref, result: Result) -> str:
    columns = _columns(result)
    column, is_condition, value = ref.what.partition("=")
    if is_condition and column in columns:
        return f"{_lowered(columns[column])} “{value}”"
    if ref.what in columns:
        return _lowered(columns[ref.what])
    head, *inner = ref.what.split(".")
    if head not in {field.name for field in dataclasses.fields(result)}:
        return ref.what  # a name of the program, an op, a search: these stay as they are
    last = inner[-1] if inner else head
    # The parts of a field in ms are columns in ms of the table beside it.
    return _lowered(columns.get(last) or columns.get(last + suffix_of(head)) or label_of(last))


def _columns(result: Result) -> dict[str, str]:
    """Return the labels of the columns of all tables; of equal names, that of the first table."""
    found: dict[str, str] = {}
    for table in tables_of(result).values():
        for name, (_, column) in columns_of(table.schema).items():
            found.setdefault(name, column.label)
    return found


def _lowered(label: str) -> str:
    """Return a label within a sentence: "Self time" loses its capital, "HBM" does not."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]
