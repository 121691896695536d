"""Equal strings are found in the file's bytes: brute force over the strings says the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stepscope.columns import stats_by_name, texts
from stepscope.columns.texts import equal_texts
from stepscope.formats.xspace import decode
from tests.profiles.model import Event, host, line, space

STRINGS = st.binary(max_size=20) | st.sampled_from(
    [b"sm__cycles_active.sum", b"sm__cycles_active.avg", b"a" * 127, b"a" * 128, b"b" + b"a" * 300]
)


def written(strings: list[bytes]) -> tuple[memoryview, np.ndarray]:
    """The strings as a file holds them: each after its length, in seven bits a byte."""
    data, offsets = b"", []
    for text in strings:
        offsets.append(len(data))
        size = len(text)
        data += (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + text
    return memoryview(data), np.asarray(offsets, np.int64)


def by_objects(strings: list[bytes]) -> tuple[list[int], list[int]]:
    distinct = list(dict.fromkeys(strings))
    return [strings.index(text) for text in distinct], [distinct.index(text) for text in strings]


@given(st.lists(STRINGS, min_size=1))
@example([b"", b"\x01"])
def test_brute_force_finds_the_same(strings: list[bytes]) -> None:
    found = equal_texts(*written([b"eight bytes and more", *strings]))
    assert found is not None
    wanted = by_objects([b"eight bytes and more", *strings])
    assert (found[0].tolist(), found[1].tolist()) == wanted


def test_what_only_objects_tell_is_left_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    long_one = bytes([0x80, 0x80, 1]) + b"x" * (1 << 14)
    assert equal_texts(memoryview(long_one), np.asarray([0])) is None
    assert equal_texts(*written([])) is None and equal_texts(*written([b"short"])) is None
    assert equal_texts(*written([b"one and two", b"one and six"])) is not None
    # All sums are one: equal lengths still tell nothing, and other lengths do not mislead.
    monkeypatch.setattr(texts, "_SPREAD", np.uint64(0))
    assert equal_texts(*written([b"one and two", b"one and six"])) is None
    assert equal_texts(*written([b"one and two", b"one and eleven"])) is None


def test_columns_of_many_strings_have_the_same_codes() -> None:
    said = [f"text {n * n % 37}" + "é" * (n % 3) for n in range(3000)]
    data = space(host(line("python", *(Event("e", n, 1, {"s": t}) for n, t in enumerate(said)))))
    found = stats_by_name(decode(data), ("s",))["s"].texts
    assert found.texts() == said and found.values == list(dict.fromkeys(said))
