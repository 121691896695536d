"""Texts of an export: names by number, and the words of its own enumerations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from stepscope.columns import coded
from stepscope.formats.launched.recorded import I64, NONE, LaunchedRecording
from stepscope.formats.packed import NULL
from stepscope.formats.trace_tables import TraceTables

_VERSION: Final = re.compile(r"_v\d+(?:_ptsz|_ptds)?$")


class NsightNames:
    """Texts by number, read when somebody names them and kept."""

    def __init__(self, database: TraceTables, recorded: LaunchedRecording) -> None:
        self._database = database
        self._recorded = recorded
        self._texts: dict[int, str] = {}

    def texts(self, numbers: I64) -> dict[int, str]:
        """The texts of these numbers; those that are not in the file are missing."""
        wanted = np.asarray(
            [one for one in np.unique(numbers).tolist() if one not in self._texts], np.int64
        )
        self._texts.update(self._database.texts("StringIds", "id", "value", wanted))
        return self._texts

    def codes(
        self, numbers: I64, kind: str, rename: Callable[[str], str] = lambda text: text
    ) -> I64:
        """Codes of the texts of some numbers; what has no text is called by its number.

        Args:
            numbers: Of each row.
            kind: What a text without words is called, as in "kernel 17".
            rename: What becomes of a text.
        """
        used, inverse = coded(numbers)
        texts = self.texts(used)
        found = [
            rename(texts[one]) if one in texts else kind if one == NULL else f"{kind} {one}"
            for one in used.tolist()
        ]
        return self._recorded.texts.codes(found)[inverse] if found else inverse

    def optional(self, numbers: I64) -> I64:
        """Codes of the texts of some numbers, ``NONE`` where there is none."""
        used, inverse = coded(numbers)
        texts = self.texts(used)
        found = [
            self._recorded.texts.code(texts[one]) if one in texts else NONE for one in used.tolist()
        ]
        return np.asarray(found, np.int64)[inverse] if found else inverse


def call_name(text: str) -> str:
    """``cudaLaunchKernel_v7000`` without the version of its signature."""
    return _VERSION.sub("", text)


def words(database: TraceTables, table: str, fallback: Mapping[int, str]) -> dict[int, str]:
    """What the numbers of an enumeration mean, as the file says, else as its documentation does."""
    rows = database.rows(table, ("id",), ("label",))
    said = {
        number: label
        for number, label in zip(rows["id"].tolist(), rows.texts["label"], strict=True)
        if label
    }
    return {**fallback, **said}
