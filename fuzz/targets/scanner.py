"""The JSON scanner alone, with hardly any room: every edge of a piece and a table is met."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np

from fuzz.kineto import check_sound, mutated, pieces
from fuzz.target import Target
from fuzz.targets.kineto import seeds
from stepscope.formats.kineto.reading import scan as scanning
from stepscope.formats.kineto.reading.scan import Scanned, scan

# Rows for values must do for the longest event, which has half as many as it has tokens.
_SCARCE: dict[str, Any] = {"_TOKENS": 512, "_VALUE_ROWS": 256, "_EVENT_ROWS": 3}


def _attempt(data: bytes) -> str:
    size = 1 + sum(data[:64]) % 700
    try:
        with patch.multiple(scanning, _PIECE_BYTES=size, **_SCARCE):
            found = scan(pieces(data, size))
        with patch.multiple(scanning, **_SCARCE):
            whole = scan([data])
    except ValueError:
        return "refused"
    check_sound(found)
    damage = whole.damage
    # Behind damage, where the next event begins is guessed from the bytes at hand.
    if not damage.lost + damage.garbage + damage.head:
        _check_same(found, whole)
    kinds = [name for name, count in vars(damage).items() if count]
    return f"{min(len(found), 9)} events: {' '.join(kinds)}"


def _check_same(found: Scanned, whole: Scanned) -> None:
    """Raise AssertionError where it matters how the text was cut into pieces."""
    assert found.head.keys() == whole.head.keys()
    assert found.damage == whole.damage, (found.damage, whole.damage)
    for name, column in found.columns.items():
        assert np.array_equal(column, whole.columns[name]), name
    assert found.arrows == whole.arrows
    for kind, own in found.own.items():
        for name in ("key", "begin", "row", "number"):
            assert np.array_equal(getattr(own, name), getattr(whole.own[kind], name)), name
    assert np.array_equal(found.link_text, whole.link_text)
    texts = range(len(found.texts))
    assert [found.texts.raw(n) for n in texts] == [whole.texts.raw(n) for n in texts]


TARGET = Target("scanner", 0.05, seeds, mutated, _attempt)
