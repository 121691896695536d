"""Messages declared as dataclasses, to and from the protobuf wire format.

Only what the profiler's service needs: varints, strings, bytes, messages, repeated fields and
maps with string keys. Fields with proto3's default value are not written; unknown fields and
known fields of another wire type are skipped, as every protobuf reader does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, TypeVar, cast

from stepscope.errors import DecodeError
from stepscope.records import dataclass
from stepscope.schema.xspace import MapEntry, Wire
from stepscope.wire.read import Field, fields
from stepscope.wire.write import number, prefix

_MASK = (1 << 64) - 1
_SIGN = 1 << 63
# Of a message with all that is in it. Real ones have some dozens, next to a recording in one field;
# a quarter of a gigabyte of two-byte fields took more than a minute to walk in plain Python.
MOST_FIELDS = 100_000

Scalar = Literal["uint", "int", "bool", "text", "bytes"]
FieldKind = Scalar | type["Message"]
M = TypeVar("M", bound="Message")


@dataclass(frozen=True, slots=True)
class FieldCodec:
    """How one attribute is encoded.

    Attributes:
        number: Field number.
        kind: What the value is. "int" is a signed int64 in ten bytes when negative.
        many: "one", "list", or "map" (string keys; ``kind`` is that of the values).
    """

    number: int
    kind: FieldKind
    many: Literal["one", "list", "map"] = "one"


class Message:
    """Base of the declared messages: a dataclass whose ``FIELDS`` name every attribute."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, FieldCodec]] = {}

    def encode(self) -> bytes:
        """The message's bytes, fields in the order they are declared."""
        return b"".join(
            piece
            for name, field in self.FIELDS.items()
            for piece in _pieces(field, getattr(self, name))
        )

    @classmethod
    def decode(cls: type[M], data: bytes | memoryview) -> M:
        """The message in these bytes; raises ``DecodeError`` when they are none."""
        try:
            return cls._read(memoryview(data), iter(range(MOST_FIELDS)))
        except ValueError as error:
            raise DecodeError(str(error), offset_bytes=0, path=cls.__name__) from error

    @classmethod
    def _read(cls: type[M], view: memoryview, left: Iterator[int]) -> M:
        message = cls()
        by_number = {field.number: (name, field) for name, field in cls.FIELDS.items()}
        for found in _counted(view, left):
            name, field = by_number.get(found.number, ("", None))
            if field is not None and found.wire == _wire_of(field):
                is_bytes = found.wire == Wire.LEN
                value = view[found.payload : found.end] if is_bytes else found.value
                _take(message, name, field, value, left)
        return message


def _counted(view: memoryview, left: Iterator[int]) -> Iterator[Field]:
    """The fields of a message, while there are any left to take."""
    for found in fields(view):
        if next(left, None) is None:
            raise ValueError(f"it has more than {MOST_FIELDS:,} fields")
        yield found


def _pieces(field: FieldCodec, value: Any) -> Iterator[bytes]:
    if field.many == "list":
        for each in value:
            yield from _one(field, each, always=True)
    elif field.many == "map":
        inner = FieldCodec(MapEntry.VALUE, field.kind)
        for key, each in value.items():
            entry = b"".join(
                [*_one(FieldCodec(MapEntry.KEY, "text"), key), *_one(inner, each, always=True)]
            )
            yield prefix(field.number, len(entry)) + entry
    else:
        yield from _one(field, value)


def _one(field: FieldCodec, value: Any, *, always: bool = False) -> Iterator[bytes]:
    """One value with its tag; a default value only where its presence counts."""
    if isinstance(field.kind, type):
        payload = b"" if value is None else value.encode()
        # A message field that is set to an empty message is not the same as one that is not set.
        if value is not None or always:
            yield prefix(field.number, len(payload)) + payload
    elif field.kind in ("text", "bytes"):
        payload = value.encode("utf-8", "surrogateescape") if field.kind == "text" else value
        if len(payload) or always:
            yield prefix(field.number, len(payload))
            yield payload
    elif value or always:
        yield number(field.number, int(value), always=True)


def _take(
    message: Message, name: str, field: FieldCodec, value: int | memoryview, left: Iterator[int]
) -> None:
    """Put one decoded value where it belongs; the last one wins where only one can be."""
    if field.many == "list":
        getattr(message, name).append(_value(field.kind, value, left))
    elif field.many == "map":
        key, inner = _entry(field, cast("memoryview", value), left)
        getattr(message, name)[key] = inner
    else:
        setattr(message, name, _value(field.kind, value, left))


def _entry(field: FieldCodec, data: memoryview, left: Iterator[int]) -> tuple[str, Any]:
    key: Any = ""
    inner: Any = field.kind() if isinstance(field.kind, type) else _ABSENT[field.kind]
    value_wire = _wire_of(FieldCodec(MapEntry.VALUE, field.kind))
    for found in _counted(data, left):
        value = data[found.payload : found.end] if found.wire == Wire.LEN else found.value
        if found.number == MapEntry.KEY and found.wire == Wire.LEN:
            key = _value("text", value, left)
        elif found.number == MapEntry.VALUE and found.wire == value_wire:
            inner = _value(field.kind, value, left)
    return key, inner


_ABSENT: dict[str, Any] = {"uint": 0, "int": 0, "bool": False, "text": "", "bytes": b""}


def _value(kind: FieldKind, value: int | memoryview, left: Iterator[int]) -> Any:
    if isinstance(value, int):
        if kind == "bool":
            return value != 0
        return value - (1 << 64) if kind == "int" and value >= _SIGN else value
    if isinstance(kind, type):
        return kind._read(value, left)
    # A stranger's bytes need not be UTF-8; what is not is kept, and written again as it was.
    return str(value, "utf-8", "surrogateescape") if kind == "text" else bytes(value)


def _wire_of(field: FieldCodec) -> Wire:
    lengthy = field.many == "map" or field.kind not in ("uint", "int", "bool")
    return Wire.LEN if lengthy else Wire.VARINT
