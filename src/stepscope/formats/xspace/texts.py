"""The names in a file, as text that can be encoded, and what must be kept to write them again."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.formats.xspace.cold_fields import Fields
from stepscope.limits import MAX_NAME_CHARS, cut_name
from stepscope.records import dataclass, field
from stepscope.utf8 import text_of

# Names that are read at once, and the bytes from the first to the last of them.
_BLOCK: Final = 1024
_BLOCK_BYTES: Final = 1 << 20


@dataclass(slots=True)
class TextReader:
    """Reads the texts of one file.

    Attributes:
        buffer: The file.
        raw: Bytes of the texts that are not UTF-8 or too long, by the text shown for them.
    """

    buffer: memoryview
    raw: dict[str, bytes] = field(default_factory=dict)

    def read(self, begin: int, end: int) -> str:
        """The text in these bytes."""
        piece = self.buffer[begin:end]
        if len(piece) <= MAX_NAME_CHARS:
            try:
                return str(piece, "utf-8")
            except UnicodeDecodeError:
                pass
        whole = bytes(piece)
        text = text_of(cut_name(whole))
        self.raw[text] = whole
        return text

    def column(self, fields: Fields, rows: int) -> list[str]:
        """The text of each of ``rows`` messages: of these fields the last that is its own."""
        texts = [""] * rows
        for low in range(0, len(fields), _BLOCK):
            parent = fields.parent[low : low + _BLOCK].tolist()
            begin, end = fields.payload[low : low + _BLOCK], fields.end[low : low + _BLOCK]
            for row, text in zip(parent, self._block(begin, end), strict=True):
                texts[row] = text
        return texts

    def _block(self, begin: I64, end: I64) -> list[str]:
        """The texts in these bytes.

        One decoded stretch and a slice for each text take a fifth of a decoding of each.
        """
        first, last = int(begin.min()), int(end.max())
        if last - first > _BLOCK_BYTES:  # far apart in the file
            return [self.read(*span) for span in zip(begin.tolist(), end.tolist(), strict=True)]
        piece = self.buffer[first:last]
        near, odd = str(piece, "latin-1"), np.flatnonzero(np.frombuffer(piece, np.uint8) >= 0x80)
        spans = zip((begin - first).tolist(), (end - first).tolist(), strict=True)
        texts = [near[low:high] for low, high in spans]
        # Only of ASCII is a byte a character.
        before, until = np.searchsorted(odd, begin - first), np.searchsorted(odd, end - first)
        is_odd = (until > before) | (end - begin > MAX_NAME_CHARS)
        for row in np.flatnonzero(is_odd).tolist():
            texts[row] = self.read(int(begin[row]), int(end[row]))
        return texts
