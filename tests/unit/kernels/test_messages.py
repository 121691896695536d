"""What is inside messages of protobuf: packed numbers, and texts by code."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.formats.messages import Texts
from stepscope.kernels import core
from stepscope.wire import write as wire
from stepscope.wire.read import packed_varints

KERNELS = (core.message, core.plain("message_kernel"))


def packed(kernel: ModuleType, fields: list[bytes]) -> tuple[list[list[int]], int]:
    """The numbers of each field, which lie one after the other in a buffer, and which is broken."""
    ends = np.cumsum([len(one) for one in fields], dtype=np.int64)
    begins = ends - [len(one) for one in fields]
    count, value = np.zeros(len(fields), np.int64), np.empty(sum(map(len, fields)), np.uint64)
    buffer = memoryview(b"".join(fields))
    broken = kernel.read_packed(buffer, begins.data, ends.data, count.data, value.data)
    parts = np.split(value[: count.sum()], np.cumsum(count)[:-1])
    return [one.tolist() for one in parts], broken


@pytest.mark.parametrize("kernel", KERNELS, ids=["compiled", "plain"])
@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=5), min_size=1, max_size=5))
def test_packed_numbers_come_back(kernel: ModuleType, numbers: list[list[int]]) -> None:
    fields = [b"".join(map(wire.varint, one)) for one in numbers]
    found, broken = packed(kernel, fields)
    assert found == numbers == [list(packed_varints(one)) for one in fields]
    assert broken == -1


@pytest.mark.parametrize("kernel", KERNELS, ids=["compiled", "plain"])
@pytest.mark.parametrize(
    "tail", [b"\x80", b"\xff" * 9, b"\xff" * 10, b"\xff" * 10 + b"\x01"], ids=len
)
def test_a_number_that_does_not_end_costs_itself_and_is_told(
    kernel: ModuleType, tail: bytes
) -> None:
    found, broken = packed(kernel, [b"\x01\x02", b"\x03" + tail, b"\x04", b"\x80"])
    assert broken == 1
    assert found[0] == [1, 2] and found[2:] == [[4], []]
    assert found[1][0] == 3


@pytest.mark.parametrize("kernel", KERNELS, ids=["compiled", "plain"])
def test_ten_bytes_are_64_bits_as_protobuf_has_them(kernel: ModuleType) -> None:
    assert packed(kernel, [b"\xff" * 9 + b"\x7f"]) == ([[2**64 - 1]], -1)


def codes(texts: list[bytes]) -> tuple[list[int], list[str]]:
    """The code of each text, and what the codes stand for."""
    ends = np.cumsum([len(one) for one in texts], dtype=np.int64)
    found = Texts(memoryview(b"".join(texts)))
    half = len(texts) // 2
    begins = ends - np.asarray([len(one) for one in texts], np.int64)
    parts = [found.codes(begins[:half], ends[:half]), found.codes(begins[half:], ends[half:])]
    return np.concatenate(parts).tolist(), found.list


@pytest.mark.parametrize("kernel", KERNELS, ids=["compiled", "plain"])
def test_equal_texts_have_one_code_in_the_order_they_come(
    kernel: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "message", kernel)
    texts = [b"", b"step", b"\0", b"", b"a long name of a kernel", b"step", b"\0\0", b"\xff"]
    assert codes(texts) == (
        [0, 1, 2, 0, 3, 1, 4, 5],
        ["", "step", "\0", "a long name of a kernel", "\0\0", "\ufffd"],
    )


def test_more_texts_than_there_was_room_for_at_first_keep_their_codes() -> None:
    texts = [str(n % 5_000).encode() for n in range(12_000)]
    found, names = codes(texts)
    assert found == [n % 5_000 for n in range(12_000)]
    assert names == [str(n) for n in range(5_000)]


@pytest.mark.parametrize("kernel", KERNELS, ids=["compiled", "plain"])
def test_texts_that_meet_in_one_place_are_told_apart(kernel: ModuleType) -> None:
    """A table with two places for two texts: the bytes decide, whatever their sums are."""
    for seed in range(40):
        buffer = memoryview(b"abcabd")
        begin, end, sums = np.zeros(3, np.int64), np.zeros(3, np.int64), np.zeros(3, np.uint64)
        slots = np.full(4, -1, np.int32)
        table = kernel.TextCodes(buffer, seed)
        table.room(begin.data, end.data, sums.data, slots.data)
        low, high = np.asarray([0, 3, 0, 3], np.int64), np.asarray([3, 6, 3, 6], np.int64)
        code = np.zeros(4, np.int64)
        assert table.codes(low.data, high.data, code.data, 0) == 4
        assert code.tolist() == [0, 1, 0, 1]
