"""Annotations of ours in a trace of PyTorch's, whose ranges have a name and nothing else.

``stepscope.Trace("train", step_num=3)`` travels as ``train#step_num=3#``, with what that grammar
needs, and what is not ASCII, as ``%2C``: Kineto leaves out ranges with other names. Here name and
values part again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.kineto.slices import Bool, Slices
from stepscope.formats.xspace.plane_writer import PlaneWriter
from stepscope.records import dataclass

Value = int | float | str
_OURS: Final = re.compile(r"(.*)#((?:[^#=]+=[^#]*)?)#", re.DOTALL)
_PLAIN: Final = " !$&()*+-./:;<>?@[]^_{|}~"
_WHOLE: Final = re.compile(r"[+-]?\d{1,18}")


@dataclass(frozen=True, slots=True, eq=False)
class NameStat:
    """A value by event name.

    Attributes:
        values: Per name; meaningless where the name has none.
        has: Which names have it.
        is_text: Whether values are ids of texts.
    """

    name: str
    values: NDArray[Any]
    has: Bool
    is_text: bool


@dataclass(frozen=True, slots=True, eq=False)
class Annotations:
    """Annotations of ours among the names of a trace.

    Attributes:
        is_one: Which slices are one.
        labels: Their names without values, by name as recorded.
        values: Their values by name as recorded.
        names: All names of the trace.
    """

    is_one: Bool
    labels: dict[str, str]
    values: dict[str, dict[str, Value]]
    names: list[str]

    def label(self, name: str) -> str:
        """The name without values; other names as they are."""
        return self.labels.get(name, name)

    def has(self, key: str) -> bool:
        """Whether any annotation has this value."""
        return any(key in values for values in self.values.values())

    def stats(self, plane: PlaneWriter) -> list[NameStat]:
        """The values as arrays over the names."""
        columns: dict[tuple[str, type], tuple[list[int], list[Value]]] = {}
        for code, name in enumerate(self.names):
            for key, value in self.values.get(name, {}).items():
                codes, found = columns.setdefault((key, type(value)), ([], []))
                codes.append(code)
                found.append(value)
        return [
            self._stat(plane, key, kind, codes, values)
            for (key, kind), (codes, values) in columns.items()
        ]

    def _stat(
        self, plane: PlaneWriter, key: str, kind: type, codes: list[int], values: list[Value]
    ) -> NameStat:
        column: NDArray[Any] = np.zeros(len(self.names), np.float64 if kind is float else np.int64)
        column[codes] = plane.texts(map(str, values)) if kind is str else values
        has = np.zeros(len(self.names), bool)
        has[codes] = True
        return NameStat(key, column, has, kind is str)


def encoded(name: str, metadata: Mapping[str, Any]) -> str:
    """An annotation as the name of a range."""
    values = ",".join(f"{_quoted(key)}={_quoted(_text(value))}" for key, value in metadata.items())
    return f"{_quoted(name)}#{values}#"


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _quoted(text: str) -> str:
    return quote(text, safe=_PLAIN, errors="replace")


def annotations_of(slices: Slices) -> Annotations:
    """The annotations of ours in a trace."""
    labels: dict[str, str] = {}
    values: dict[str, dict[str, Value]] = {}
    for name in slices.names:
        found = _OURS.fullmatch(name) if name.endswith("#") else None
        if found is not None:
            labels[name] = unquote(found[1])
            pairs = (pair.partition("=")[::2] for pair in found[2].split(",") if pair)
            values[name] = {unquote(key): _number_or_text(unquote(text)) for key, text in pairs}
    is_one = slices.of_name(lambda name: name in labels) & slices.is_kind("op", "annotation")
    return Annotations(is_one, labels, values, slices.names)


def _number_or_text(text: str) -> Value:
    if _WHOLE.fullmatch(text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text
