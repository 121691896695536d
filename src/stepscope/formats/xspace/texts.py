"""The names in a file, as text that can be encoded, and what must be kept to write them again."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepscope.formats.xspace.cold_fields import Fields
from stepscope.limits import MAX_NAME_CHARS, cut_name
from stepscope.utf8 import text_of


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
        for row, begin, end in zip(
            fields.parent.tolist(), fields.payload.tolist(), fields.end.tolist(), strict=True
        ):
            texts[row] = self.read(begin, end)
        return texts
