"""Compiled programs without their owner's names and values.

Only the fields below of an HloProto are written again. Names in them are replaced, numbers are
indices, extents and sizes of the program. Constants, the backend's own texts, and every field that
is not listed are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from stepscope.errors import DecodeError
from stepscope.limits import json_value
from stepscope.wire import write as wire
from stepscope.wire.read import packed_varints, values

# Tuples within tuples: readers go no deeper.
_DEEPEST: Final = 64


class _Message(NamedTuple):
    """Fields that stay of a message, by number.

    Attributes:
        numbers: Numbers, one or many.
        names: Texts in which names are replaced.
        messages: Messages, by the name of their own entry.
        configs: JSON, of which listed keys stay.
    """

    numbers: frozenset[int] = frozenset()
    names: frozenset[int] = frozenset()
    messages: Mapping[int, str] = {}
    configs: frozenset[int] = frozenset()


def _of(
    *numbers: int, names: tuple[int, ...] = (), configs: tuple[int, ...] = (), **messages: int
) -> _Message:
    inside = {number: name for name, number in messages.items()}
    return _Message(frozenset(numbers), frozenset(names), inside, frozenset(configs))


_INSTRUCTION: Final = _Message(
    frozenset(
        {9, 13, 14, 18, 19, 20, 23, 25, 26, 31, 32, 34, 35, 36, 37, 38, 45, 47, 50, 56, 58, 60, 65}
        | {66, 67, 69, 70, 71, 73, 75, 76, 77, 80, 81, 85, 89, 94, 95, 96, 97}
    ),
    # Name, opcode, kind of fusion, target of a custom call, direction and type of a comparison.
    names=frozenset({1, 2, 11, 28, 63, 72}),
    messages={
        3: "shape", 7: "metadata", 15: "window", 16: "convolution", 17: "numbers", 21: "window",
        29: "shape", 30: "numbers", 33: "numbers", 40: "sharding", 48: "numbers", 49: "numbers",
        51: "numbers", 52: "numbers", 57: "shape", 59: "numbers", 62: "numbers", 68: "attributes",
        87: "devices", 90: "ragged", 92: "numbers",
    },
    configs=frozenset({43}),
)  # fmt: skip
_FIELDS: Final[Mapping[str, _Message]] = {
    "program": _of(module=1, buffers=3),
    "module": _of(5, 6, 11, 16, names=(1, 2), computation=3, schedule=7, assignment=15, frames=17),
    "computation": _of(5, 6, 7, names=(1, 8), instruction=2),
    "instruction": _INSTRUCTION,
    "metadata": _of(4, 5, 8, 9, 15, 17, 18, 19, names=(1, 2, 3, 12, 16)),
    "shape": _Message(frozenset({2, 3, 6}), messages={4: "shape", 5: "layout"}),
    "layout": _of(1, 7, 8, 9, 11, 12, 13, 14, 15, 16, numbers=6),
    "window": _of(numbers=1),
    "convolution": _of(3, 4, 6, 7, 8, 9, 10, 11, 12),
    "sharding": _of(1, 3, 6, 9, 10),
    "attributes": _of(attribute=1),
    "attribute": _of(names=(1, 2)),
    "devices": _Message(messages={1: "numbers", 2: "numbers"}),
    "ragged": _of(2, 3, numbers=1),
    "numbers": _of(*range(1, 17)),
    "schedule": _of(sequence=1),
    "sequence": _of(1, numbers=2),
    "assignment": _of(1, 2, numbers=3),
    "frames": _Message(names=frozenset({1, 2}), messages={3: "numbers", 4: "numbers"}),
    "buffers": _of(buffer=1, alias=2, allocation=3, heap=4),
    "buffer": _of(1, 2, 4, location=3),
    "alias": _of(1, location=2),
    "location": _of(3, 4, names=(2,)),
    "allocation": _of(1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, numbers=9),
    "heap": _of(2, 3, event=1),
    "event": _of(1, 2, 5, names=(3, 4)),
}
# The keys of a backend's configuration that are read, or tell how the op runs.
_KEYS: Final = (
    "alpha_real|autotune_workspace_size|beta|cudnn_(?:fmha|conv)_backend_config|dimensions|dot_dimension_numbers|epilogue"
    "|fusion_backend_config|gemm_backend_config|intermediate_tensor_shape|kernel_name|kind"
    "|known_trip_count|[lr]hs_(?:batch|contracting)_dimensions|n|name"
)
_LISTED: Final = re.compile(_KEYS)
# Larger numbers in a configuration may be ids: they are left out.
_MAX_NUMBER: Final = 1_000_000


def redacted_program(proto: bytes, name: Callable[[str], str]) -> bytes:
    """Return an HloProto of which only listed fields are left; b"" of a damaged one.

    Args:
        proto: The HloProto.
        name: Replaces the names in a text.
    """
    try:
        return _written("program", proto, name, 0)
    except DecodeError:
        return b""


def program_texts(proto: bytes) -> Iterator[str]:
    """Return every text in the listed fields of an HloProto, each once."""
    found: dict[str, None] = {}

    def note(text: str) -> str:
        found.setdefault(text)
        return text

    redacted_program(proto, note)
    yield from found


def _written(kind: str, data: bytes, name: Callable[[str], str], depth: int) -> bytes:
    fields = _FIELDS[kind]
    out: list[bytes] = []
    for number, value in values(data):
        if number in fields.numbers:
            # Written one by one: no text of a stranger stays together in a packed field.
            each = (value,) if isinstance(value, int) else packed_varints(value)
            out += [wire.number(number, item, always=True) for item in each]
        elif isinstance(value, int):
            continue
        elif number in fields.names:
            out.append(wire.text(number, name(value.decode("utf-8", "replace"))))
        elif number in fields.messages and depth < _DEEPEST:
            inside = _written(fields.messages[number], value, name, depth + 1)
            out.append(wire.blob(number, inside, always=True))
        elif number in fields.configs:
            out.append(wire.blob(number, _config(value, name)))
    return b"".join(out)


def _config(data: bytes, name: Callable[[str], str]) -> bytes:
    """The listed keys of a configuration in JSON, and nothing of another text."""
    try:
        value = json_value(data)
        return json.dumps(_listed(value, name, 0)).encode() if isinstance(value, dict) else b""
    except ValueError:
        return b""


def _listed(value: Any, name: Callable[[str], str], depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return {
            key: _listed(item, name, depth + 1)
            for key, item in value.items()
            if _LISTED.fullmatch(key)
        }
    if isinstance(value, list):
        return [_listed(item, name, depth + 1) for item in value]
    is_digits = isinstance(value, str) and value.isascii() and value.isdigit()
    if is_digits or isinstance(value, int | float):
        return value if abs(float(value)) < _MAX_NUMBER else None
    return name(value) if isinstance(value, str) else value
