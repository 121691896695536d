"""Any result's values as an outline: labelled lines with depth, for terminal and Markdown alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from stepscope.field_names import label_of, suffix_of
from stepscope.records import dataclass
from stepscope.result import ENVELOPE, Result, Table
from stepscope.surfaces.format import clean, scalar


@dataclass(frozen=True, slots=True)
class OutlineLine:
    """One line: its depth, its label ("" for a plain list item) and its text ("" for a heading)."""

    depth: int
    label: str
    text: str = ""


def outline(result: Result) -> Iterator[OutlineLine]:
    """The values of a result that are not tables, in field order."""
    for f in dataclasses.fields(result):
        value = getattr(result, f.name)
        # An absent record would be a name beside a dash; an absent figure has a unit.
        is_absent = value is None and not suffix_of(f.name)
        if f.name not in ENVELOPE and not isinstance(value, Table) and not is_absent:
            yield from _lines(f.name, value, 0)


def _lines(name: str, value: Any, depth: int, label: str | None = None) -> Iterator[OutlineLine]:
    title = label_of(name) if label is None else label
    if isinstance(value, Table):
        yield OutlineLine(depth, title, f"{len(value):,} rows, below")
    elif _is_record(value):
        yield OutlineLine(depth, title)
        for f in dataclasses.fields(value):
            yield from _lines(f.name, getattr(value, f.name), depth + 1)
    elif isinstance(value, Mapping):
        yield OutlineLine(depth, title, "" if value else "none")
        for key, item in value.items():
            # The values of a map carry the unit of the map's name, not of their key.
            yield from _lines(suffix_of(name), item, depth + 1, clean(str(key)))
    elif isinstance(value, (tuple, list)):
        yield from _sequence(name, title, value, depth)
    else:
        yield OutlineLine(depth, title, scalar(name, value))


def _sequence(
    name: str, title: str, values: tuple[Any, ...] | list[Any], depth: int
) -> Iterator[OutlineLine]:
    if any(_is_record(value) for value in values):
        yield OutlineLine(depth, title)
        for value in values:
            fields = [
                (f.name, inner)
                for f in dataclasses.fields(value)
                # A record's own table is among the result's tables, too.
                if not isinstance(inner := getattr(value, f.name), Table)
            ]
            yield OutlineLine(
                depth + 1, "", ", ".join(f"{label_of(k).lower()}: {_flat(k, v)}" for k, v in fields)
            )
    elif len(values) > 1:
        yield OutlineLine(depth, title)
        for value in values:
            yield OutlineLine(depth + 1, "", scalar(name, value))
    else:
        yield OutlineLine(depth, title, scalar(name, values[0]) if values else "none")


def _flat(name: str, value: Any) -> str:
    if _is_record(value):
        return " ".join(_flat(f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
    if isinstance(value, (tuple, list)):
        return "; ".join(_flat(name, item) for item in value) or "none"
    if isinstance(value, Mapping):
        return "; ".join(f"{clean(str(k))} {_flat(str(k), v)}" for k, v in value.items()) or "none"
    return scalar(name, value)


def _is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)
