"""The short names that an answer for the pages contains: ``{name: short name}``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from stepscope.result import Result, columns_of, tables_of
from stepscope.surfaces.tiles.meta import LABEL_LENGTH
from stepscope.tables.core.profile import Profile
from stepscope.tables.device.short_names import called, short_names

_KEYS: Final = ("name", "names")


def bringing(
    body: Mapping[str, Any], names: Iterable[str], profile: Profile | None = None
) -> dict[str, Any]:
    """An answer with ``short_names``, the short ones of these names; without any as it is.

    Args:
        body: The answer.
        names: What it names.
        profile: What it is about: its kernels have the same short names in all answers.
    """
    short = brought(names, profile)
    return {**body, "short_names": short} if short else dict(body)


def brought(names: Iterable[str], profile: Profile | None) -> dict[str, str]:
    """The short names of some names; those of kernels tell them apart, also where they are cut."""
    short = short_names(names)
    known = {} if profile is None or not short else called(profile)
    titles = {name[:LABEL_LENGTH]: title for name, title in known.items()} | dict(known)
    return {name: titles.get(name, one) for name, one in short.items()}


def names_in(value: Any, is_name: bool = False) -> Iterator[str]:
    """Texts below ``name`` and ``names`` of an answer, at any depth."""
    if isinstance(value, str):
        if is_name:
            yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from names_in(inner, key in _KEYS)
    elif isinstance(value, list):
        for inner in value:
            yield from names_in(inner, is_name)


def names_of(result: Result) -> Iterator[str]:
    """Cells of all columns of names in the tables of a result."""
    for table in tables_of(result).values():
        for name, (_, column) in columns_of(table.schema).items():
            if column.kind == "name":
                yield from (cell for cell in table[name] if isinstance(cell, str))
