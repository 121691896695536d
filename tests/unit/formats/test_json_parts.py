"""JSON in parts: wherever the text is cut into pieces, its values are the same."""

from __future__ import annotations

import json

import pytest

from stepscope.formats.json_parts import Parts

_INSIDE = frozenset({(), ("a",)})
_TEXT = """{"a": [1, 12.25, -0.5, 1e3, 2.5E-7, 1e+2, true, null,
 "x\\u00e9", {"b": [0.01, {}]}], "n": 3.5}"""


def _read(pieces: list[bytes]) -> tuple[list[tuple[tuple[str, ...], object]], str]:
    parts = Parts(pieces, _INSIDE)
    return list(parts), parts.damage


@pytest.mark.parametrize("end", ["", " ", "\n\n\n"])
def test_every_cut_gives_the_same_parts(end: str) -> None:
    data = (_TEXT + end).encode()
    whole = _read([data])
    assert [value for _, value in whole[0]] == [*json.loads(_TEXT)["a"], 3.5]
    for first in range(len(data)):
        assert _read([data[:first], data[first:]]) == whole, data[:first]
        for size in (1, 2, 3):
            pieces = [data[:first], data[first : first + size], data[first + size :]]
            assert _read(pieces) == whole, pieces


@pytest.mark.parametrize("number", ["0.25", "7", "1e-9", "-12.5E+3", "null", "false"])
def test_a_text_may_be_one_value(number: str) -> None:
    for cut in range(len(number) + 1):
        parts = Parts([number[:cut].encode(), number[cut:].encode()], frozenset())
        assert list(parts) == [((), json.loads(number))]
        assert not parts.damage
