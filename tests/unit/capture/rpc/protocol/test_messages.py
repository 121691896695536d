"""Our messages against google.protobuf: what one writes, the other reads the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.capture.rpc.protocol import messages
from stepscope.capture.rpc.protocol.codec import MOST_FIELDS, FieldCodec, Message
from stepscope.capture.rpc.protocol.messages import (
    ConfigValue,
    ProfileOptions,
    ProfileRequest,
    ProfileResponse,
    ToolData,
    TraceOptions,
)
from stepscope.errors import DecodeError
from stepscope.wire.write import prefix
from tests.unit.capture.rpc import oracle

ALL = [
    kind
    for kind in vars(messages).values()
    if isinstance(kind, type) and issubclass(kind, Message) and kind is not Message
]

NUMBERS = st.integers(0, 2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    "uint": NUMBERS,
    "int": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "text": TEXTS,
    "bytes": st.binary(max_size=40),
}


def values(field: FieldCodec) -> st.SearchStrategy[Any]:
    one = made(field.kind) if isinstance(field.kind, type) else SCALARS[field.kind]
    if field.many == "list":
        return st.lists(one, max_size=3)
    if field.many == "map":
        return st.dictionaries(TEXTS, one, max_size=3)
    return st.none() | one if isinstance(field.kind, type) else one


def made(kind: type[Message]) -> st.SearchStrategy[Message]:
    return st.builds(kind, **{name: values(field) for name, field in kind.FIELDS.items()})


def small(name: str, value: Any) -> Any:
    """Numbers that fit the uint32 fields of the real messages."""
    return value % 2**32 if name.endswith("_level") or name in ("version", "device_type") else value


def fill(theirs: Any, ours: Message) -> None:
    """Give google.protobuf's message the values of ours."""
    for name, field in ours.FIELDS.items():
        value = getattr(ours, name)
        if field.many == "map":
            for key, each in value.items():
                fill(getattr(theirs, name)[key], each)
        elif field.many == "list" and isinstance(field.kind, type):
            for each in value:
                fill(getattr(theirs, name).add(), each)
        elif field.many == "list":
            getattr(theirs, name).extend(value)
        elif isinstance(field.kind, type):
            if value is not None:
                getattr(theirs, name).SetInParent()
                fill(getattr(theirs, name), value)
        else:
            setattr(theirs, name, small(name, value))


def tidy(message: Any) -> Any:
    """The same message with its numbers in the range the real fields have."""
    if isinstance(message, Message):
        for name in message.FIELDS:
            setattr(message, name, tidy(small(name, getattr(message, name))))
    elif isinstance(message, list):
        return [tidy(each) for each in message]
    elif isinstance(message, dict):
        return {key: tidy(each) for key, each in message.items()}
    return message


@pytest.mark.parametrize("kind", ALL)
def test_every_field_has_the_number_and_type_of_the_description(kind: type[Message]) -> None:
    described = oracle.message(kind.__name__).DESCRIPTOR.fields_by_name
    assert {name: field.number for name, field in kind.FIELDS.items()} == {
        name: described[name].number for name in kind.FIELDS
    }


@pytest.mark.parametrize("kind", ALL)
def test_what_protobuf_writes_we_read(kind: type[Message]) -> None:
    @given(made(kind).map(tidy))
    def check(ours: Message) -> None:
        theirs = oracle.message(kind.__name__)()
        fill(theirs, ours)
        assert kind.decode(theirs.SerializeToString()) == ours

    check()


@pytest.mark.parametrize("kind", ALL)
def test_what_we_write_protobuf_reads(kind: type[Message]) -> None:
    @given(made(kind).map(tidy))
    def check(ours: Message) -> None:
        theirs = oracle.message(kind.__name__)()
        fill(theirs, ours)
        assert type(theirs).FromString(ours.encode()) == theirs

    check()


def test_options_that_are_set_to_nothing_are_still_set() -> None:
    assert ProfileRequest(opts=ProfileOptions()).encode() == b"\x22\x00"
    assert ProfileRequest.decode(b"\x22\x00").opts == ProfileOptions()
    assert ProfileRequest.decode(b"").opts is None


def test_a_request_by_hand() -> None:
    # field 4, 4 bytes: version (5) = 1, duration_ms (9) = 5; field 9: emit_xspace.
    request = ProfileRequest(opts=ProfileOptions(version=1, duration_ms=5), emit_xspace=True)
    assert request.encode() == b"\x22\x04\x28\x01\x48\x05\x48\x01"


def test_unknown_fields_and_other_wire_types_are_skipped() -> None:
    # 1: a string where a number belongs; 15: fixed64; 16: fixed32; then duration_ms = 7.
    data = b"\x0a\x01x" + b"\x79" + bytes(8) + b"\x85\x01" + bytes(4) + b"\x08\x07"
    assert ProfileRequest.decode(data) == ProfileRequest(duration_ms=7)


def test_a_name_that_is_no_utf8_keeps_its_bytes() -> None:
    request = ProfileRequest.decode(b"\x3a\x02\xff\xfe")
    assert request.encode() == b"\x3a\x02\xff\xfe"


@pytest.mark.parametrize(
    "data", [b"\x08", b"\x08\xff\xff", b"\x22\x05\x08", b"\x0b", b"\x22\x02\x08\xff", b"\xff" * 11]
)
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        ProfileRequest.decode(data)


@pytest.mark.parametrize("filler", [b"\0\0", b"\x78\x01"])
def test_a_message_of_nothing_but_fields_is_refused_early(filler: bytes) -> None:
    """A worker's answer of 256 MB of zeros held the client for more than a minute."""
    many = filler * MOST_FIELDS
    with pytest.raises(DecodeError, match="more than 100,000 fields"):
        ProfileResponse.decode(many + filler)
    inner = prefix(6, len(filler) * 60_000) + filler * 60_000
    with pytest.raises(DecodeError, match="more than 100,000 fields"):
        ProfileResponse.decode(inner * 2)
    assert ProfileResponse.decode(inner).tool_data == [ToolData()]


def test_every_cut_of_a_message_is_read_or_refused() -> None:
    whole = ProfileResponse(
        tool_data=[ToolData("xplane.pb", b"\x00" * 300)], xspace=b"y" * 5
    ).encode()
    read = 0
    for end in range(len(whole)):
        try:
            ProfileResponse.decode(whole[:end])
        except DecodeError as error:
            assert "ProfileResponse" in error.path
        else:
            read += 1
    assert read == 2  # nothing at all, and the first field alone


def test_plain_values_of_the_configuration() -> None:
    assert [ConfigValue.of(value).plain for value in ("a", True, -3, False)] == ["a", True, -3, 0]
    assert TraceOptions(0xFFFFFFFE).encode() == b"\x08\xfe\xff\xff\xff\x0f"
