"""Pickles give plain values or an error; nothing in them is ever run."""

from __future__ import annotations

import collections
import io
import os
import pickle
import random
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepscope.errors import FormatError
from stepscope.formats.pickled import loaded
from stepscope.limits import LimitError

VALUES: list[Any] = [
    None, True, False, 0, 255, 256, 65_535, 65_536, -1, 2**31 - 1, -(2**31), 2**63, -(2**100),
    1.5, float("inf"), "", "text", "é" * 300, "x" * 70_000, (), (1,), (1, 2), (1, 2, 3),
    (1, 2, 3, 4), [], [1, [2, [3]]], {}, {"a": {"b": [None, True]}}, list(range(3_000)),
    {str(n): n for n in range(3_000)}, [("same",)] * 3,
]  # fmt: skip


def read(data: bytes, size: int = 1 << 20) -> Any:
    pieces = (data[at : at + size] for at in range(0, len(data), size))
    return loaded(pieces, title="a pickle", file="a.pickle")


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
def test_plain_values_are_what_pickle_makes_of_them(value: Any, protocol: int) -> None:
    data = pickle.dumps(value, protocol=protocol)
    assert read(data) == value
    assert read(data, 7) == value


def test_a_value_that_holds_itself_holds_itself() -> None:
    value: list[Any] = [1]
    value.append(value)
    found = read(pickle.dumps(value))
    assert found[1] is found


class Runs:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch /tmp/stepscope-was-here",)


class State:
    def __init__(self) -> None:
        self.x = 1


HOSTILE: dict[str, tuple[bytes, str]] = {
    "a call": (pickle.dumps(Runs()), "GLOBAL"),
    "a call of protocol 0": (pickle.dumps(Runs(), protocol=0), "GLOBAL"),
    "a class": (pickle.dumps(collections.OrderedDict), "GLOBAL"),
    "an object": (pickle.dumps(State(), protocol=2), "GLOBAL"),
    "an object of old": (b"(ios\nsystem\n.", "INST"),
    "REDUCE alone": (b"\x80\x02])R.", "REDUCE"),
    "BUILD alone": (b"\x80\x02]}b.", "BUILD"),
    "an extension": (b"\x80\x02\x82\x01.", "EXT1"),
    "a persistent id": (b"\x80\x02X\x01\x00\x00\x00aQ.", "BINPERSID"),
    "bytes": (b"\x80\x05\x96" + b"\xff" * 8, "BYTEARRAY8"),
    "a buffer": (b"\x80\x05\x97.", "NEXT_BUFFER"),
    "a number of 2 GB": (b"\x80\x02\x8b\x00\x00\x00\x80", "2,147,483,648 bytes"),
    "a text of 4 GB": (b"\x80\x02X\xff\xff\xff\xff", "4,294,967,295 bytes"),
    "a text of 16 EB": (b"\x80\x04\x8d" + b"\xff" * 8, "bytes"),
    "many digits": (b"I" + b"9" * 5_000 + b"\n.", "digits"),
    "a memo that is empty": (b"\x80\x02h\x05.", "value"),
    "a group without begin": (b"\x80\x02]e.", "not there"),
    "a list that is none": (b"\x80\x02}K\x01a.", "not a list"),
    "a key that is none": (b"\x80\x02}]K\x01s.", "a key is a list"),
    "a key that is a tuple": (b"\x80\x02})K\x01s.", "a key is a tuple"),
    "a key that is huge": (b"\x80\x02}\x8a\x0c" + b"\x7f" * 12 + b"K\x01s.", "a key is a int"),
    "half a group": (b"\x80\x02}(K\x01u.", "value"),
    "nothing": (b"", "cut"),
    "no end": (b"\x80\x02]", "cut"),
    "a future protocol": (b"\x80\x09.", "protocol"),
}


@pytest.mark.parametrize(("data", "why"), HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_more_than_values_is_refused_by_name(data: bytes, why: str) -> None:
    with pytest.raises(FormatError) as refused:
        read(data)
    assert why in refused.value.why
    assert "at byte" in refused.value.why
    assert not Path("/tmp/stepscope-was-here").exists()


def test_two_million_entries_take_no_more_than_their_time() -> None:
    def pieces() -> Iterator[bytes]:
        yield b"\x80\x02"
        for _ in range(20):
            yield b"]" * 100_000
        yield b"R"

    begin = time.process_time()
    with pytest.raises(FormatError, match="not open"):
        loaded(pieces(), title="a pickle", file="")
    assert time.process_time() - begin < 20


def test_nesting_of_any_depth_is_no_recursion() -> None:
    depth = 200_000
    found = read(b"\x80\x02" + b"]" * depth + b"a" * (depth - 1) + b".")
    assert isinstance(found, list)
    read(b"\x80\x02" + b"(" * 512 + b"l" * 512 + b".")
    with pytest.raises(LimitError, match="'depth': 512 levels"):
        read(b"\x80\x02" + b"(" * depth + b"l" * depth + b".")


def test_entries_set_one_by_one_are_each_looked_at_once() -> None:
    """Each new entry once had all of its dict's entries looked at again."""
    entries = b"".join(b"J" + number.to_bytes(4, "little") + b"Ns" for number in range(100_000))
    found = loaded([b"\x80\x02}" + entries + b"."], title="a", file="a", replace=lambda _: None)
    assert len(found) == 100_000


def test_every_cut_and_every_flipped_byte_gives_a_value_or_an_error() -> None:
    data = pickle.dumps({"a": [1, 2.5, "text", {"b": (None, True)}] * 3}, protocol=4)
    rng = random.Random(7)
    refused = 0
    for _ in range(3_000):
        broken = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        end = rng.randrange(1, len(broken) + 1)
        try:
            read(bytes(broken[:end]))
        except FormatError:
            refused += 1
    assert refused > 1_000


def test_a_dict_may_be_replaced_once_it_is_whole() -> None:
    taken: list[dict[Any, Any]] = []

    def replace(one: dict[Any, Any]) -> int | None:
        if "row" not in one:
            return None
        taken.append(dict(one))
        return len(taken) - 1

    data = pickle.dumps({"rows": [{"row": n} for n in range(3)], "other": {"x": 1}})
    found = loaded(io.BytesIO(data), title="", file="", replace=replace)
    assert found == {"rows": [range(3)], "other": {"x": 1}}
    assert taken == [{"row": 0}, {"row": 1}, {"row": 2}]


@pytest.mark.parametrize("protocol", [1, 2, 4, 5])
def test_what_refers_to_a_replaced_dict_gets_what_stands_for_it(protocol: int) -> None:
    """And what refers to a dict that is kept gets that, whatever numbers the memo has."""
    event, kept = {"addr": 1}, {"other": [2]}
    data = pickle.dumps([event, kept, event, {}, kept], protocol=protocol)
    found = loaded(
        io.BytesIO(data), title="", file="", replace=lambda one: 7 if "addr" in one else None
    )
    assert found == [7, kept, 7, {}, kept]
    assert found[1] is found[4]


@pytest.mark.parametrize("protocol", [1, 2, 4, 5])
def test_equal_lists_of_replaced_dicts_are_one(protocol: int) -> None:
    """Each has a list of its own with the same dicts, and another dict has that list again."""
    frame, other = {"line": 1}, {"line": 2}
    lists = [[frame, other] for _ in range(2_000)] + [[other, frame], [{"line": 1}, other], []]
    value = [{"row": 0, "frames": one} for one in lists for _ in range(2)]
    seen: list[list[Any]] = []

    def replace(one: dict[Any, Any]) -> int | None:
        if "row" not in one:
            return None
        seen.append(one["frames"])
        return len(seen) - 1

    data = pickle.dumps({"rows": value, "again": lists[1]}, protocol=protocol)
    found = loaded(io.BytesIO(data), title="", file="", replace=replace)
    assert seen == [one for one in lists for _ in range(2)]
    assert len({id(one) for one in seen if one}) == 3
    assert found["rows"] == [range(len(value))] and found["again"] is seen[0]


@pytest.mark.slow
def test_many_events_with_lists_of_their_own_need_little_memory() -> None:
    frame = {"line": 1, "filename": "a.py"}
    value = [{"row": n, "frames": [frame] * 40} for n in range(20_000)]
    data = pickle.dumps(value)
    tracemalloc.start()
    found = loaded(io.BytesIO(data), title="", file="", replace=lambda one: one.get("row"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [range(20_000)]
    assert peak < 100 * len(value) + 2 * len(data)


def test_numbers_of_a_file_follow_on_each_other_in_lists_alone() -> None:
    value = {"a": [1, 2, 3, 5, 6], "b": (1, 2), "c": [True, 2], "d": [9, 10, 11], "e": [4]}
    data = pickle.dumps(value)
    assert loaded(io.BytesIO(data), title="", file="") == value
    found = loaded(io.BytesIO(data), title="", file="", replace=lambda _: None)
    assert found == {**value, "d": [range(9, 12)]}


@pytest.mark.parametrize("last", [2**63, 2**100])
def test_numbers_too_far_apart_to_be_counted_are_a_list(last: int) -> None:
    data = pickle.dumps([0, last], 2)
    found = loaded(io.BytesIO(data), title="", file="", replace=lambda _: None)
    assert found == [0, last]


def test_memo_numbers_may_leave_gaps() -> None:
    """BINPUT 200 and 3, out of order, then both are read."""
    data = b"\x80\x02(X\x01\x00\x00\x00aq\xc8X\x01\x00\x00\x00bq\x03h\xc8h\x03l."
    assert read(data) == pickle.loads(data) == ["a", "b", "a", "b"]
