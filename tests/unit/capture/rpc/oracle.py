"""The service's messages as google.protobuf understands them, from a description of our own."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_F = descriptor_pb2.FieldDescriptorProto
_TYPES = {
    "uint32": _F.TYPE_UINT32,
    "uint64": _F.TYPE_UINT64,
    "int64": _F.TYPE_INT64,
    "bool": _F.TYPE_BOOL,
    "string": _F.TYPE_STRING,
    "bytes": _F.TYPE_BYTES,
}

# The package is not on the wire; TensorFlow's own would collide with the framework's.
_PACKAGE = "stepscope_oracle"
_MESSAGES = {
    "ConfigValue": "1 string string_value; 2 bool bool_value; 3 int64 int64_value",
    "TraceOptions": "1 uint64 host_traceme_filter_mask",
    "ProfileOptions": (
        "1 bool include_dataset_ops; 2 uint32 host_tracer_level; 3 uint32 device_tracer_level; "
        "4 uint32 python_tracer_level; 5 uint32 version; 6 uint32 device_type; "
        "7 bool enable_hlo_proto; 8 uint64 start_timestamp_ns; 9 uint64 duration_ms; "
        "10 string repository_path; 11 TraceOptions trace_options; "
        "12 map<ConfigValue> advanced_configuration; 13 bool raise_error_on_start_failure; "
        "14 string session_id; 15 string override_hostname"
    ),
    "ToolRequestOptions": "2 string output_formats; 3 bool save_to_repo",
    "ProfileRequest": (
        "1 uint64 duration_ms; 2 uint64 max_events; 3 *string tools; 4 ProfileOptions opts; "
        "5 string repository_root; 6 string session_id; 7 string host_name; "
        "8 map<ToolRequestOptions> tool_options; 9 bool emit_xspace"
    ),
    "ToolData": "1 string name; 2 bytes data",
    "ProfileResponse": "6 *ToolData tool_data; 7 bool empty_trace; 8 bytes xspace",
    "TerminateRequest": "1 string session_id",
    "MonitorRequest": "1 uint64 duration_ms; 2 uint64 monitoring_level; 3 bool timestamp",
    "MonitorResponse": "1 string data",
    "StateResponse": "1 string json",
}


def message(name: str) -> Any:
    """A class of google.protobuf for one of the messages."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))


def _pool() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(
        name="oracle.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, text in _MESSAGES.items():
        described = file.message_type.add(name=name)
        for each in text.split("; "):
            number, kind, field = each.split()
            _add(described, int(number), kind, field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _add(described: descriptor_pb2.DescriptorProto, number: int, kind: str, field: str) -> None:
    many = kind.startswith(("*", "map<"))
    added = described.field.add(
        name=field, number=number, label=_F.LABEL_REPEATED if many else _F.LABEL_OPTIONAL
    )
    if kind.startswith("map<"):
        entry = "".join(part.capitalize() for part in field.split("_")) + "Entry"
        nested = described.nested_type.add(name=entry)
        nested.options.map_entry = True
        _add(nested, 1, "string", "key")
        _add(nested, 2, kind[4:-1], "value")
        added.type, added.type_name = _F.TYPE_MESSAGE, f".{_PACKAGE}.{described.name}.{entry}"
    elif kind.lstrip("*") in _TYPES:
        added.type = _TYPES[kind.lstrip("*")]
    else:
        added.type, added.type_name = _F.TYPE_MESSAGE, f".{_PACKAGE}.{kind.lstrip('*')}"
