"""Messages read and written in plain Python agree with google.protobuf."""

from __future__ import annotations

import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import given
from hypothesis import strategies as st

from stepscope.errors import DecodeError
from stepscope.wire import write
from stepscope.wire.read import fields, packed_varints, values, whole_prefix

MESSAGES = st.lists(
    st.one_of(
        st.tuples(st.just("number"), st.integers(1, 40), st.integers(0, 2**64 - 1)),
        st.tuples(st.just("blob"), st.integers(1, 40), st.binary(max_size=20)),
        st.tuples(st.just("fixed64"), st.integers(1, 40), st.integers(0, 2**64 - 1)),
    ),
    max_size=12,
)


def encoded(message: list[tuple[str, int, int | bytes]]) -> bytes:
    parts = []
    for kind, number, value in message:
        if isinstance(value, bytes):
            parts.append(write.blob(number, value, always=True))
        elif kind == "number":
            parts.append(write.number(number, value, always=True))
        else:
            parts.append(write.fixed64(number, value))
    return b"".join(parts)


@given(MESSAGES)
def test_a_written_message_reads_back(message: list[tuple[str, int, int | bytes]]) -> None:
    assert list(values(encoded(message))) == [(number, value) for _, number, value in message]


@given(MESSAGES)
def test_protobuf_reads_the_same_fields(message: list[tuple[str, int, int | bytes]]) -> None:
    shifted = [(kind, number + 100, value) for kind, number, value in message]
    unknown = UnknownFieldSet(Any.FromString(encoded(shifted)))
    found = [unknown[place] for place in range(len(unknown))]
    assert [(each.field_number, each.data) for each in found] == list(values(encoded(shifted)))


@given(MESSAGES.filter(bool), st.data())
def test_a_cut_message_is_refused_or_a_prefix(
    message: list[tuple[str, int, int | bytes]], data: st.DataObject
) -> None:
    whole = encoded(message)
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    kept = whole_prefix(memoryview(cut))
    ends = [field.end for field in fields(memoryview(whole))]
    assert kept == max([0, *(end for end in ends if end <= len(cut))])
    if kept < len(cut):
        with pytest.raises(DecodeError):
            list(values(cut))


def test_packed_numbers_are_read_and_a_cut_one_is_refused() -> None:
    packed = write.varint(3) + write.varint(300) + write.varint(2**64 - 1)
    assert list(packed_varints(packed)) == [3, 300, 2**64 - 1]
    with pytest.raises(DecodeError):
        list(packed_varints(packed[:-1]))


def test_a_number_of_eleven_bytes_does_not_end() -> None:
    with pytest.raises(DecodeError):
        list(values(b"\x08" + b"\x80" * 11 + b"\x01"))
