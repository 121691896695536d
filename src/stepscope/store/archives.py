"""Archives of recordings: which file is one, what its begin shows, and how to unpack it.

None is opened: a recording is read by its size and more than once.
"""

from __future__ import annotations

import re
import shlex
import struct
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from stepscope.store.found import Miss
from stepscope.utf8 import shown

#: How much of an archive is looked at for the names of what it holds.
HEAD_BYTES: Final = 1 << 16
_TAR_NAME: Final = re.compile(r"\.tar\.", re.IGNORECASE)
# Names that recordings alone have; a database or a .json may be anything.
_RECORDING: Final = re.compile(
    r"(\.xplane\.pb|\.trace\.json|\.speedscope\.json|\.pftrace|\.perfetto-trace|\.nsys-rep"
    r"|_(kernel|hip_api|memory_copy)_trace\.csv)(\.gz)?$|(^|/)plugins/profile/",
    re.IGNORECASE,
)
_ZIP: Final = b"PK\x03\x04"
_ZIP_HEADER: Final = struct.Struct("<4sHHHHHIIIHH")
# Where a size is written behind the file instead.
_HAS_DESCRIPTOR: Final = 8
_TAR_MAGIC: Final = (b"ustar", 257)
_TAR_BLOCK: Final = 512
_OTHERS: Final = {
    b"\x28\xb5\x2f\xfd": ("Zstandard", "zstd -d {}"),
    b"BZh": ("bzip2", "bunzip2 -k {}"),
    b"\xfd7zXZ\x00": ("xz", "unxz -k {}"),
    b"7z\xbc\xaf": ("7-Zip", "7z x {}"),
}


def archive(path: str, stem: str, size_bytes: int, first: bytes, inner: bytes) -> Miss | None:
    """What to do with an archive; None where these are not the bytes of one.

    Args:
        path: Where it is.
        stem: Its name without the endings of archives.
        size_bytes: As stored.
        first: Its first bytes.
        inner: The same, inflated where they are gzip's.
    """
    name = PurePosixPath(path.replace("\\", "/")).name
    quoted = shlex.quote(shown(name))
    folder = shlex.quote(shown(stem or "unpacked"))
    packed, command = next(
        (said for magic, said in _OTHERS.items() if first.startswith(magic)), ("", "")
    )
    if first.startswith(_ZIP):
        reason, command = "A zip archive", f"python -m zipfile -e {quoted} {folder}"
    elif _is_tar(inner) or (packed and _TAR_NAME.search(name)):
        reason, command = "A tar archive", f"mkdir {folder} && tar -xf {quoted} -C {folder}"
    elif packed:
        reason, command, folder = (
            f"A file compressed by {packed}",
            command.format(quoted),
            "the result",
        )
    else:
        return None
    held = recordings(inner)
    if held:
        reason += f" of recordings: it holds {shown(held[0])}"
    if len(held) > 1:
        reason += f" and {len(held) - 1} more at its begin"
    hint = f"Unpack it (`{command}`) and open {folder}; only .gz is read as it is."
    return Miss(path, "archive", f"{reason}.", hint, size_bytes)


def recordings(inner: bytes) -> list[str]:
    """Names of the recordings that an archive's begin shows."""
    listed = _zip_names(inner) if inner.startswith(_ZIP) else _tar_names(inner)
    return [name for name in listed if _RECORDING.search(name)]


def _is_tar(inner: bytes) -> bool:
    magic, at = _TAR_MAGIC
    return inner[at : at + len(magic)] == magic


def _tar_names(inner: bytes) -> Iterator[str]:
    at = 0
    while _is_tar(inner[at : at + _TAR_BLOCK]):
        header = inner[at : at + _TAR_BLOCK]
        name = _text(header[:100])
        yield f"{_text(header[345:500])}/{name}".lstrip("/")
        digits = header[124:136].strip(b"\0 ")
        if not re.fullmatch(rb"[0-7]{1,12}", digits):
            return
        at += _TAR_BLOCK * (1 - -int(digits, 8) // _TAR_BLOCK)


def _zip_names(inner: bytes) -> Iterator[str]:
    at = 0
    while inner[at : at + 4] == _ZIP and at + _ZIP_HEADER.size <= len(inner):
        header = _ZIP_HEADER.unpack_from(inner, at)
        flags, size, name, extra = header[2], header[7], header[9], header[10]
        at += _ZIP_HEADER.size
        yield _text(inner[at : at + name])
        if flags & _HAS_DESCRIPTOR:
            return
        at += name + extra + size


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "replace")
