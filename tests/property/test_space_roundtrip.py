"""Decoding and encoding, held against google.protobuf on random bytes."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stepscope.errors import DecodeError
from stepscope.formats.xspace import decode
from stepscope.formats.xspace.encode import encode
from tests.kernels import examples
from tests.oracle.protobuf_space import canonical
from tests.property.wire_bytes import framed, message, spaces, tag, varint

HOST = framed(4, b"host")


def in_event(fields: bytes) -> bytes:
    """A space with one event that has these fields."""
    return HOST + framed(1, framed(3, framed(4, fields)))


@settings(max_examples=examples(400), deadline=None)
@given(spaces())
@example(in_event(tag(2, 0) + b"\0"))  # an offset that is given and 0
@example(in_event(tag(2, 0) + b"\1" + tag(5, 0) + b"\2"))  # oneof: the last counts
@example(in_event(tag(5, 0) + b"\2" + tag(2, 0) + b"\1"))
@example(in_event(tag(1, 2) + b"\1x"))  # a known number, but as bytes: unknown
@example(HOST + framed(1, framed(4, b"")))  # an entry without key and value
@example(HOST + framed(1, framed(4, varint(8) + b"\1" + framed(2, framed(2, b"a")) * 2)))
@example(HOST + framed(1, framed(5, b"\x08\1" + framed(2, framed(2, b"a"))) * 2))
@example(HOST + framed(1, framed(4, framed(2, framed(3, b"x") + framed(3, b"")))))
def test_encoding_what_was_decoded_gives_an_equal_message(data: bytes) -> None:
    expected = canonical(data)
    if expected is None:
        return
    space = decode(data)
    assert space.damage is None
    assert canonical(encode(space)) == expected


@settings(max_examples=examples(100), deadline=None)
@given(spaces(), spaces())
def test_concatenated_spaces_are_one(first: bytes, second: bytes) -> None:
    expected = canonical(first + second)
    if expected is None:
        return
    assert canonical(encode(decode(first + second))) == expected


@settings(max_examples=examples(100), deadline=None)
@given(spaces())
def test_encoding_is_stable(data: bytes) -> None:
    try:
        once = encode(decode(data))
    except DecodeError:
        return
    assert encode(decode(once)) == once


@settings(max_examples=examples(300), deadline=None)
@given(spaces(), st.data())
def test_damaged_bytes_give_columns_or_an_error_that_says_where(
    data: bytes, drawn: st.DataObject
) -> None:
    place = drawn.draw(st.integers(0, len(data) - 1))
    change = drawn.draw(st.sampled_from(["cut", "flip", "insert"]))
    if change == "cut":
        broken = data[:place]
    elif change == "flip":
        byte = drawn.draw(st.integers(0, 255))
        broken = data[:place] + bytes([byte]) + data[place + 1 :]
    else:
        broken = data[:place] + drawn.draw(st.binary(min_size=1, max_size=4)) + data[place:]
    try:
        space = decode(broken)
    except DecodeError as error:
        assert 0 <= error.offset_bytes <= len(broken)
        assert error.path.startswith("XSpace")
        return
    if space.damage is None:
        expected = canonical(broken)
        assert expected is None or canonical(encode(space)) == expected
    else:
        assert canonical(broken) is None, "google.protobuf reads what we call damaged"
        assert 0 <= space.damage.offset_bytes <= len(broken)
        with pytest.raises(DecodeError):
            decode(broken, strict=True)
        assert canonical(encode(space)) is not None


@settings(max_examples=examples(200), deadline=None)
@given(message("XPlane"), st.data())
def test_everything_before_a_cut_is_kept(plane: bytes, drawn: st.DataObject) -> None:
    """Bytes that end at a field of a plane lose nothing that comes before."""
    whole = decode(HOST + framed(1, plane) + framed(1, framed(2, b"second")))
    cut = drawn.draw(st.integers(0, 8))
    data = HOST + framed(1, plane) + framed(1, framed(2, b"second"))[: -1 - cut]
    kept = decode(data)
    if whole.damage is None:
        assert len(kept.events) == len(whole.events)
        assert kept.planes[:1] == whole.planes[:1]
        assert kept.lines == whole.lines
