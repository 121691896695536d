"""Names and values that a framework's annotations cannot carry as they are.

TensorFlow and JAX pass an annotation as text, ``name#key=value,key=value#``, and take it apart when
recording ends: a comma ends a value, a ``#`` the metadata, a quote or bracket hides what follows.
Such characters travel as characters of Unicode's private use area and are put back when the file
is assembled, where each name and value is stored once, not once per event.
"""

from __future__ import annotations

import re
from typing import Final

from stepscope.schema.xspace import MapEntry, Wire, XEventMetadata, XStatMetadata
from stepscope.wire import write as wire
from stepscope.wire.read import fields

# U+F800 + code point: three bytes in UTF-8, like any other of the area, none of them ASCII.
_BASE: Final = 0xF800
_SPECIAL: Final = "#,=\"'()[]{}"
_HIDE: Final = {ord(one): chr(_BASE + ord(one)) for one in _SPECIAL}
_HAS_SPECIAL: Final = re.compile(f"[{re.escape(_SPECIAL)}]").search
_HIDDEN: Final = tuple((chr(_BASE + ord(one)).encode(), one.encode()) for one in _SPECIAL)
# First two bytes of all of them in UTF-8: U+F800 … U+F83F is EF A0 xx, U+F840 … U+F87F EF A1 xx.
_LEADS: Final = (b"\xef\xa0", b"\xef\xa1")
_NAMES: Final = {XEventMetadata.NAME, XEventMetadata.DISPLAY_NAME, XStatMetadata.NAME}


def escaped(text: str) -> str:
    """The text as an annotation can carry it."""
    return text.translate(_HIDE) if _HAS_SPECIAL(text) else text


def unescaped(entry: memoryview) -> bytes | memoryview:
    """A field of a plane's metadata with the characters put back; the same where there are none."""
    data = bytes(entry)
    if not any(lead in data for lead in _LEADS):
        return entry
    view = memoryview(data)
    outer = next(fields(view))
    body = b""
    for one in fields(view, outer.payload, outer.end):
        if one.number == MapEntry.VALUE and one.wire == Wire.LEN:
            value = b"".join(
                wire.blob(part.number, _restored(data[part.payload : part.end]), always=True)
                if part.number in _NAMES and part.wire == Wire.LEN
                else data[part.begin : part.end]
                for part in fields(view, one.payload, one.end)
            )
            body += wire.blob(MapEntry.VALUE, value, always=True)
        else:
            body += data[one.begin : one.end]
    return wire.blob(outer.number, body, always=True)


def _restored(text: bytes) -> bytes:
    for hidden, plain in _HIDDEN:
        text = text.replace(hidden, plain)
    return text
