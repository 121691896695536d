"""Where to see a finding, in words: fields and columns by the labels that their page gives them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace

from stepscope.field_names import label_of, suffix_of
from stepscope.result import Finding, Ref, Result, columns_of, tables_of


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
