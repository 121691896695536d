"""The fields of a result class, read from its annotations: for schemas, types and documents."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from stepscope.result import ENVELOPE, Result, Row, Table


@cache
def own_fields(result: type) -> Mapping[str, Any]:
    """``{field: type}`` of a result (its envelope aside) or of any nested record."""
    hints = get_type_hints(result)
    skip = ENVELOPE if issubclass(result, Result) else frozenset()
    return {f.name: hints[f.name] for f in dataclasses.fields(result) if f.name not in skip}


def row_of(hint: Any) -> type[Row] | None:
    """The row schema when a hint is ``Table[Row]``."""
    if get_origin(hint) is Table:
        row: type[Row] = get_args(hint)[0]
        return row
    return None


def table_fields(cls: type) -> dict[str, type[Row]]:
    """The tables of a result class and their rows; one within a record is ``record.table``."""
    found: dict[str, type[Row]] = {}
    for name, hint in own_fields(cls).items():
        row = row_of(hint)
        if row is not None:
            found[name] = row
        for record in records_in(hint):
            found |= {f"{name}.{inner}": one for inner, one in table_fields(record).items()}
    return found


def records_in(hint: Any) -> list[type]:
    """The record classes (dataclasses) a hint mentions, at any depth."""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return [hint]
    return [record for inner in get_args(hint) for record in records_in(inner)]


def field_names(cls: type) -> list[str]:
    """Names of the fields of a result class and of its records, at any depth, each once."""
    found: dict[str, None] = {}
    for name, hint in own_fields(cls).items():
        found[name] = None
        for record in records_in(hint):
            found |= dict.fromkeys(field_names(record))
    return list(found)


def described(cls: type) -> dict[str, str]:
    """``{field: text}`` from the Attributes section of a class's docstring."""
    text = cls.__doc__ or ""
    found: dict[str, str] = {}
    _, _, section = text.partition("Attributes:")
    for match in re.finditer(
        r"^\s{1,40}([\w, ]{1,99}): (.+(?:\n(?!\s{1,40}[\w, ]{1,99}: ).+)*)", section, re.MULTILINE
    ):
        words = " ".join(match.group(2).split())
        for name in match.group(1).split(","):
            found[name.strip()] = words
    return found


def first_sentence(cls: type) -> str:
    """The docstring's first paragraph on one line."""
    return " ".join((cls.__doc__ or "").strip().split("\n\n")[0].split())
