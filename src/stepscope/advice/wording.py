"""A finding in words, laid out once for every surface: what it saves, where to see it, whose calls.

A rule writes what each framework calls a thing as a choice (``verdicts.sentences``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import replace

from stepscope.advice.located import LOCATED
from stepscope.advice.results import Results
from stepscope.field_names import label_of, suffix_of
from stepscope.quantities import roughly, written_out
from stepscope.result import Finding, Place, Ref, Result, columns_of, tables_of
from stepscope.verdicts.sentences import chosen, key_of

# A saving whose least is nearer to its most than this is one figure.
_ONE_FIGURE = 0.9
# Of what only informs these say where time goes: what a healthy program needs is not to be saved.
_ONLY_PARTS = (LOCATED, "dominant-op")
_OF_UNITS = " %mµs"


def worded(finding: Finding, whole_ms: float | None) -> Finding:
    """The finding with its saving in words.

    Args:
        finding: Complete but for them.
        whole_ms: What it is a share of: the mean step, or the recording; None unknown.
    """
    return replace(finding, saving_text=_text(finding, whole_ms))


def _text(finding: Finding, whole_ms: float | None) -> str:
    if finding.saving_ms is None:
        return ": ".join(filter(None, ("Saving unknown", finding.no_saving)))
    least, most = finding.saving_low_ms, finding.saving_high_ms
    low = finding.saving_ms if least is None else min(finding.saving_ms, least)
    high = finding.saving_ms if most is None else max(finding.saving_ms, most)
    per = "per step" if finding.saving_per == "step" else "of the recording"
    low = low if low < _ONE_FIGURE * high else high
    amount = "up to " * (low == high) + _between(roughly(low), roughly(high))
    saves = _saves(finding)
    if not whole_ms:
        return f"{saves} {amount} {per}"
    return (
        f"{saves} {amount} {per} ({_between(_percent(low / whole_ms), _percent(high / whole_ms))})"
    )


def _saves(finding: Finding) -> str:
    """How a saving begins: it promises no more than is known."""
    if finding.severity != "info":
        return "Saves"
    return "If it can go:" if finding.rule in _ONLY_PARTS else "Could save"


def _between(low: str, high: str) -> str:
    """From one to the other, the unit once where both have the same: "1.8 to 3.6 ms"."""
    if low == high:
        return high
    number = low.rstrip(_OF_UNITS)
    is_same = number == "0" or high.endswith(low[len(number) :])
    return f"{number if is_same else low} to {high}"


def _percent(frac: float) -> str:
    return "<1%" if 0 < frac < 0.01 else f"{min(frac, 1.0):.0%}"


def brief_place(function: str, file: str, line: int | None) -> str:
    """A function with its line, without the folders of the file: "step (train.py:12)"."""
    name = file.replace("\\", "/").rpartition("/")[2]
    return f"{function} ({name}:{line})" if name and line else function


def plainly(finding: Finding) -> Finding:
    """The finding with large numbers written out in all that a person reads of it."""
    return replace(
        finding,
        title=written_out(finding.title),
        message=written_out(finding.message),
        actions=tuple(map(written_out, finding.actions)),
        assumption=written_out(finding.assumption),
        no_saving=written_out(finding.no_saving),
    )


def with_line(one: Finding, place: Place | None) -> Finding:
    """A finding that says the line which the account has for it."""
    if place is None or not (place.file and place.line) or place.function[:1] in ("", "<"):
        return one
    at = f"{place.file}:{place.line}"
    if at in one.message:
        return one
    return replace(one, message=f"{one.message} Most of it is below {place.function} ({at}).")


def as_causes_say(one: Finding, causes: Sequence[Finding]) -> Finding:
    """A symptom whose actions are those of its causes."""
    listed = " and ".join(f"“{cause.title}”" for cause in causes)
    return replace(one, actions=(f"Do what {listed} says: this goes with it.",), code={})


def framework_of(results: Mapping[str, Result]) -> str:
    """The key of the recorded framework; "" where it is unknown, or none of those with keys."""
    overview = Results(results).optional.overview_page
    return "" if overview is None else key_of(overview.environment.framework)


def in_words_of(framework: str, finding: Finding) -> Finding:
    """A finding whose actions, code and doubts are for one framework.

    Args:
        framework: Its key; "" keeps what is for any.
        finding: As its rule wrote it.
    """
    spoken = (chosen(action, framework) for action in finding.actions)
    return replace(
        finding,
        actions=tuple(action for action in spoken if action),
        code=_own(finding.code, framework),
        wrong_when=chosen(finding.wrong_when, framework),
    )


def _own(code: Mapping[str, str], framework: str) -> dict[str, str]:
    # What only one has, such as tf.data, is used beside others, too.
    if not framework or len(code) == 1:
        return dict(code)
    return {name: lines for name, lines in code.items() if name == framework}


def named(finding: Finding, results: Mapping[str, Result]) -> Finding:
    """The finding with its evidence in words.

    Args:
        finding: With its evidence.
        results: Results by tool id; evidence of another tool keeps the rule's own words.
    """
    said = (replace(ref, words=_words(ref, results.get(ref.tool))) for ref in finding.evidence)
    return replace(finding, evidence=tuple(said))


def _words(ref: Ref, result: Result | None) -> str:
    if not isinstance(result, Result):
        return ref.what
    columns = _columns(result)
    column, is_condition, value = ref.what.partition("=")
    if is_condition and column in columns:
        return f"{_within(columns[column])} “{value}”"
    if ref.what in columns:
        return _within(columns[ref.what])
    head, *inner = ref.what.split(".")
    if head not in {field.name for field in dataclasses.fields(result)}:
        return ref.what  # a name of the program, an op, a search: these stay as they are
    last = inner[-1] if inner else head
    # The parts of a field in ms are columns in ms of the table beside it.
    return _within(columns.get(last) or columns.get(last + suffix_of(head)) or label_of(last))


def _columns(result: Result) -> dict[str, str]:
    """Labels of the columns of all tables; of columns with one name, that of the first table."""
    found: dict[str, str] = {}
    for table in tables_of(result).values():
        for name, (_, column) in columns_of(table.schema).items():
            found.setdefault(name, column.label)
    return found


def _within(label: str) -> str:
    """A label within a sentence: "Self time" loses its capital, "HBM" does not."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]
