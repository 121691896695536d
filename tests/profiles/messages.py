"""The XSpace messages, made by google.protobuf from a description written here.

This is the independent encoder of the tests: it shares no code and no table with
``stepscope.columns``, so the two agreeing on a byte says something.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE: Final = "tensorflow.profiler"
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS: Final = {
    "int64": _Field.TYPE_INT64,
    "uint64": _Field.TYPE_UINT64,
    "double": _Field.TYPE_DOUBLE,
    "string": _Field.TYPE_STRING,
    "bytes": _Field.TYPE_BYTES,
}

# message: one "number type name" per field; `type*` repeats, `type@oneof` is a member of a oneof,
# `map Type` is map<int64, Type>.
_MESSAGES: Final = {
    "XSpace": ["1 XPlane* planes", "2 string* errors", "3 string* warnings", "4 string* hostnames"],
    "XPlane": [
        "1 int64 id",
        "2 string name",
        "3 XLine* lines",
        "4 map:XEventMetadata event_metadata",
        "5 map:XStatMetadata stat_metadata",
        "6 XStat* stats",
    ],
    "XLine": [
        "1 int64 id",
        "2 string name",
        "3 int64 timestamp_ns",
        "4 XEvent* events",
        "9 int64 duration_ps",
        "10 int64 display_id",
        "11 string display_name",
    ],
    "XEvent": [
        "1 int64 metadata_id",
        "2 int64@data offset_ps",
        "3 int64 duration_ps",
        "4 XStat* stats",
        "5 int64@data num_occurrences",
    ],
    "XStat": [
        "1 int64 metadata_id",
        "2 double@value double_value",
        "3 uint64@value uint64_value",
        "4 int64@value int64_value",
        "5 string@value str_value",
        "6 bytes@value bytes_value",
        "7 uint64@value ref_value",
    ],
    "XEventMetadata": [
        "1 int64 id",
        "2 string name",
        "3 bytes metadata",
        "4 string display_name",
        "5 XStat* stats",
        "6 int64* child_id",
    ],
    "XStatMetadata": ["1 int64 id", "2 string name", "3 string description"],
}


def _set_type(field: descriptor_pb2.FieldDescriptorProto, kind: str) -> None:
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type = _Field.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{kind}"


def _map_entry(message: descriptor_pb2.DescriptorProto, field_name: str, kind: str) -> str:
    """Declare the entry type of a map field; its full name."""
    name = "".join(word.capitalize() for word in field_name.split("_")) + "Entry"
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    _set_type(entry.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL), "int64")
    _set_type(entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL), kind)
    return f"{message.name}.{name}"


def _declare(message: descriptor_pb2.DescriptorProto, line: str) -> None:
    number, kind, name = line.split()
    repeated = kind.endswith("*") or kind.startswith("map:")
    kind, _, oneof = kind.rstrip("*").partition("@")
    if kind.startswith("map:"):
        kind = _map_entry(message, name, kind.removeprefix("map:"))
    label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
    field = message.field.add(name=name, number=int(number), label=label)
    _set_type(field, kind)
    if oneof:
        names = [declared.name for declared in message.oneof_decl]
        if oneof not in names:
            message.oneof_decl.add(name=oneof)
            names.append(oneof)
        field.oneof_index = names.index(oneof)


def _build() -> dict[str, Any]:
    described = descriptor_pb2.FileDescriptorProto(
        name="stepscope_tests/xplane.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, lines in _MESSAGES.items():
        message = described.message_type.add(name=name)
        for line in lines:
            _declare(message, line)
    # A pool of its own: an installed TensorFlow registers the same names in the default one.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(described)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in _MESSAGES
    }


_CLASSES: Final = _build()

XSpace: Any = _CLASSES["XSpace"]
XPlane: Any = _CLASSES["XPlane"]
XLine: Any = _CLASSES["XLine"]
XEvent: Any = _CLASSES["XEvent"]
XStat: Any = _CLASSES["XStat"]


def parse(data: bytes) -> Any:
    """The XSpace message these bytes hold, by google.protobuf."""
    message = XSpace()
    message.ParseFromString(data)
    return message
