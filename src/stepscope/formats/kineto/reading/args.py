"""Arguments of events by key: numbers event by event, texts chain by chain."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.formats.kineto.reading.event_rows import REAL, WHOLE
from stepscope.formats.kineto.reading.scan import Scanned

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
NONE: Final = -1
# ``json.dumps`` with options makes an encoder for each of the texts.
_as_json: Final = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


class EventArgs:
    """What the events' ``args`` say.

    Args:
        scanned: The trace.
        order: The events that count, by their places in the trace.
    """

    def __init__(self, scanned: Scanned, order: NDArray[np.integer[Any]]) -> None:
        self._scanned = scanned
        self._texts = scanned.texts
        self.chain = scanned.columns["chain"][order]
        self._place = np.full(len(scanned), NONE, np.int32)
        self._place[order] = np.arange(len(order), dtype=np.int32)
        self._size = len(order)
        self._keys: dict[int, str] = {}

    def __len__(self) -> int:
        return self._size

    def has(self, key: str) -> bool:
        """Whether any event has this key."""
        return self._texts.find(key) >= 0

    def numbers(self, *keys: str) -> I64:
        """Whole numbers of the first of these keys that an event has; -1 for none.

        Where a key stands twice in an event the last counts.
        """
        found = np.full(self._size, NONE, np.int64)
        for key in reversed(keys):
            rows, values = self.rows(key)
            found[rows] = values
        return found

    def rows(self, key: str) -> tuple[NDArray[Any], I64]:
        """The events that have a whole number under this key, and the numbers."""
        number = self._texts.find(key)
        if number < 0:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        rows, values = self._own(WHOLE, number)
        values = values.astype(np.int64)
        at, reals = self._own(REAL, number)
        if len(at):
            rows = np.concatenate([rows, at])
            values = np.concatenate([values, np.nan_to_num(reals).astype(np.int64)])
        if self.in_chains(key):
            chained = self.by_chain(key)[self.chain]
            where = np.flatnonzero((chained >= 0) & (self.chain >= 0))
            used, inverse = np.unique(chained[where], return_inverse=True)
            numbers = [self._texts.whole(one, NONE) for one in used.tolist()]
            more = np.asarray(numbers, np.int64)[inverse] if numbers else values[:0]
            return np.concatenate([where, rows]), np.concatenate([more, values])
        return rows, values

    def _own(self, kind: int, key: int) -> tuple[I32, NDArray[Any]]:
        """The events among these that have a value of one kind under a key, and the values."""
        row, values = self._scanned.own[kind].of(key)
        place = self._place[row]
        is_mine = place >= 0
        return place[is_mine], values[is_mine]

    def series(self) -> Iterator[tuple[int, str, float]]:
        """Every number of every event, with its key; for counters, which have nothing else."""
        found = [
            (row, key, float(value))
            for key, rows, values in self.others(())
            for row, value in zip(rows.tolist(), values.tolist(), strict=True)
        ]
        yield from sorted(found, key=lambda one: one[:2])

    def chain_keys(self) -> list[str]:
        """Every key that repeats with its values, in order of first sight."""
        return [self._texts.string(n) for n in np.unique(self._scanned.link_key).tolist()]

    def others(self, without: Collection[str]) -> Iterator[tuple[str, I32, NDArray[Any]]]:
        """Numbers in rows of their own under other keys: the key, the events, the numbers."""
        own = self._scanned.own
        numbers = np.union1d(own[WHOLE].key, own[REAL].key).tolist()
        for key, number in sorted((self._texts.string(number), number) for number in numbers):
            if key in without:
                continue
            rows, values = self._own(WHOLE, number)
            at, reals = self._own(REAL, number)
            if len(at):
                rows, values = np.concatenate([rows, at]), np.concatenate([values, reals])
            if len(rows):
                yield key, rows, values

    def in_chains(self, key: str) -> bool:
        """Whether any chain has this key."""
        number = self._texts.find(key)
        return number >= 0 and bool((self._scanned.link_key == number).any())

    def by_chain(self, key: str) -> I32:
        """Per chain the number of the text of this key; the last entry, for no chain, is -1."""
        scanned, number = self._scanned, self._texts.find(key)
        count = len(scanned.before)
        found = np.full(count + 1, NONE, np.int32)
        if number < 0 or not count:
            return found
        own = scanned.link_key == number
        found[:-1][own] = scanned.link_text[own]
        # A link without the key has what the links before it have; those come first in the table.
        at = np.flatnonzero(~own)
        before = scanned.before[at].astype(np.int64)
        while len(at):
            at, before = at[before >= 0], before[before >= 0]
            is_own = own[before]
            found[at[is_own]] = scanned.link_text[before[is_own]]
            at, before = at[~is_own], scanned.before[before[~is_own]].astype(np.int64)
        return found

    def texts(self, key: str) -> I32:
        """Per event the number of the text of this key, -1 for none."""
        found: I32 = self.by_chain(key)[self.chain]
        return found

    def values(self, key: str, rows: I64) -> list[Any]:
        """What some events have under a key that repeats; None for none."""
        code = self.by_chain(key)[self.chain[rows]]
        return [self._texts.value(number) for number in code.tolist()]

    def said(self, chain: int, without: Collection[str] = ()) -> dict[str, Any]:
        """Everything a chain says, by key, in the order of the file."""
        scanned, texts, keys = self._scanned, self._texts, self._keys
        found: list[tuple[str, Any]] = []
        while chain >= 0:
            number = scanned.link_key.item(chain)
            key = keys.get(number)
            if key is None:
                key = keys[number] = texts.string(number)
            if key not in without:
                found.append((key, texts.value(scanned.link_text.item(chain))))
            chain = scanned.before.item(chain)
        return dict(reversed(found))

    def json(self, chain: int, without: Collection[str] = ()) -> str:
        """``said`` as text, keys sorted; empty for nothing."""
        said = self.said(chain, without)
        return _as_json(said) if said else ""
