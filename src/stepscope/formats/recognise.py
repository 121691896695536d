"""What bytes are that are not an XSpace, so that the report can name it."""

from __future__ import annotations

from typing import Final

from stepscope.records import dataclass

_PROBE_BYTES: Final = 1 << 16
_REPLACEMENT: Final = b"\xef\xbf\xbd"
# Re-encoded profiles have one every few bytes; names in a sound one may hold a few.
_FEWEST: Final = 16
_SPARSEST: Final = 64
_SHORTEST_TEXT: Final = 8
_CONTROL: Final = frozenset(range(32)) - frozenset(b"\t\n\f\r")

_MAGIC: Final = (
    (
        b"\x1f\x8b",
        "a gzip file",
        "Unpack it with gunzip, or open it under a name that ends in .gz.",
    ),
    (b"PK\x03\x04", "a zip archive", "Unpack it and open the .xplane.pb file inside."),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file", "Unpack it with zstd -d and open the result."),
    (b"BZh", "a bzip2 file", "Unpack it with bunzip2 and open the result."),
    (b"\xfd7zXZ", "an xz file", "Unpack it with unxz and open the result."),
    (b"SQLite format 3", "an SQLite database (Nsight Systems exports these)", ""),
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself", "Run git lfs pull."),
    (
        b"\xff\xfe",
        "UTF-16 text, which is what PowerShell's > makes of binary output",
        "Copy the original again in binary mode.",
    ),
    (b"<!DOCTYPE", "an HTML page, perhaps a log-in or error page saved as the file", ""),
    (b"<html", "an HTML page, perhaps a log-in or error page saved as the file", ""),
    (b"<?xml", "an XML document", ""),
    (b"\x7fELF", "an executable", ""),
    (b"PAR1", "a Parquet file", ""),
)


@dataclass(frozen=True, slots=True)
class Wrong:
    """What the bytes look like, and what to do about it."""

    reason: str
    hint: str = ""


def looks_like(buffer: memoryview, *, damaged: bool, recognised: bool) -> Wrong | None:
    """Why these bytes are not an XSpace; None if they are one, damaged or not.

    Args:
        buffer: The whole file.
        damaged: Whether reading it as an XSpace met broken fields.
        recognised: Whether a field that an XSpace has was found.
    """
    if not len(buffer):
        return Wrong(
            "the file is empty",
            "Record again and wait until the profiler has written the file before copying it.",
        )
    head = bytes(buffer[:_PROBE_BYTES])
    if not head.strip(b"\0"):
        return Wrong(
            f"the first {len(head)} bytes are all zero",
            "The disk was full or the copy was interrupted; copy the file again or record again.",
        )
    if recognised and not damaged:
        return None
    if recognised:
        return _text_kind(head)
    unreadable = Wrong("no field of an XSpace can be read from it")
    return _other_format(head) or _text_kind(head) or unreadable


def _other_format(head: bytes) -> Wrong | None:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    for magic, name, hint in _MAGIC:
        if head.startswith(magic) or start[: len(magic)].lower() == magic.lower():
            return Wrong(f"the file looks like {name}", hint)
    if start[:1] in (b"{", b"[") and b'"' in start[:64]:
        return Wrong(
            "the file looks like JSON",
            "Chrome or PyTorch traces are not XSpaces; open the .xplane.pb file of the run.",
        )
    return None


def _text_kind(head: bytes) -> Wrong | None:
    replaced = head.count(_REPLACEMENT)
    if replaced >= _FEWEST and replaced * _SPARSEST > len(head) and _is_utf8(head):
        every = len(head) // replaced
        return Wrong(
            "the bytes were re-encoded as UTF-8 text: "
            f"the replacement character EF BF BD stands every {every} bytes on average, "
            "where bytes of the original were lost",
            "Copy the original again in binary mode (no text editor, no text conversion).",
        )
    if len(head) >= _SHORTEST_TEXT and _is_utf8(head) and not _CONTROL.intersection(head):
        return Wrong("the file is plain text", "Open the .xplane.pb file that the profiler wrote.")
    return None


def _is_utf8(head: bytes) -> bool:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        # The probe may end inside a character.
        return len(head) == _PROBE_BYTES and error.start >= len(head) - 3
    return True
