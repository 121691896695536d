"""google.protobuf's reading of XSpace bytes, to hold ours against.

Strings are declared as bytes here: recorded profiles hold text that is not UTF-8, which
google.protobuf refuses in a string field.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from tests.profiles import messages


def _with_bytes_for_strings() -> Any:
    described = descriptor_pb2.FileDescriptorProto()
    messages.XSpace.DESCRIPTOR.file.CopyToProto(described)
    described.name = "stepscope_tests/xplane_bytes.proto"
    for message in described.message_type:
        for field in message.field:
            if field.type == descriptor_pb2.FieldDescriptorProto.TYPE_STRING:
                field.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
    pool = descriptor_pool.DescriptorPool()
    pool.Add(described)
    return message_factory.GetMessageClass(
        pool.FindMessageTypeByName(messages.XSpace.DESCRIPTOR.full_name)
    )


_XSpace = _with_bytes_for_strings()


def parse(data: bytes) -> Any:
    """The message, or None where google.protobuf refuses the bytes."""
    message = _XSpace()
    try:
        message.ParseFromString(data)
    except DecodeError:
        return None
    return message


def canonical(data: bytes) -> bytes | None:
    """Bytes that are equal exactly when two messages are, NaNs and unknown fields included."""
    message = parse(data)
    if message is None:
        return None
    serialized: bytes = message.SerializeToString(deterministic=True)
    return serialized
