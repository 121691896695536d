"""Decoded columns kept from one opening of a recording to the next, in a folder of this user.

An entry is of one state of one file: device, inode, size, times in nanoseconds, and a hash of
sampled blocks. It is written beside its place and renamed, mapped into memory when it is read, and
never changed. What is private of a recording is not in it, and damaged recordings are not kept.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from stepscope.columns.space import Space
from stepscope.records import dataclass
from stepscope.store.column_file import VERSION, read_space, write_space

if TYPE_CHECKING:
    from hashlib import blake2b

#: Set to "off", nothing is kept and nothing that was kept is used.
VARIABLE: Final = "STEPSCOPE_CACHE"
#: What the cache may take of the disk.
MAX_BYTES: Final = 10_000_000_000
#: Smaller files open as fast without the cache.
MIN_FILE_BYTES: Final = 1 << 18
#: A file that changed this short a time ago may change again without another time stamp.
MIN_AGE_NS: Final = 2_000_000_000
#: Room that a disk keeps: an entry that would leave less is not written.
MIN_FREE_FRAC: Final = 0.05
_SUFFIX: Final = ".stepscope-columns"
_BLOCKS, _BLOCK_BYTES = 64, 1 << 12
_ABANDONED_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file as it is now.

    Attributes:
        path: Where it is.
        key: What names its entry.
        changed_ns: When its content or its inode changed last.
    """

    path: str
    key: str
    changed_ns: int

    @property
    def entry(self) -> Path:
        """The path of its entry."""
        return cache_folder() / f"{self.key}{_SUFFIX}"


@dataclass(frozen=True, slots=True)
class CachedRecording:
    """A kept recording.

    Attributes:
        path: Where the entry is.
        recording: The recording's path when it was kept.
        format: The recording's format.
        size_bytes: What the entry takes of the disk.
        used: When it was last used, in seconds since 1970.
    """

    path: Path
    recording: str
    format: str
    size_bytes: int
    used: float


def cache_folder() -> Path:
    """This user's folder for columns (``$XDG_CACHE_HOME/stepscope/columns``)."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "stepscope" / "columns"


def is_on() -> bool:
    """Whether columns are kept and used."""
    return os.environ.get(VARIABLE, "").lower() not in ("off", "0", "no", "false")


def snapshot(path: str, format_: str) -> Snapshot | None:
    """Return the state of a file that may have an entry; None if it is small or no plain file.

    Args:
        path: A path of this machine.
        format_: How it is read.
    """
    try:
        with Path(path).open("rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size < MIN_FILE_BYTES:
                return None
            digest = _digest()
            facts = (
                found.st_dev,
                found.st_ino,
                found.st_size,
                found.st_mtime_ns,
                found.st_ctime_ns,
            )
            # Names of hosts are read from paths, and limits refuse a file.
            limits = os.environ.get("STEPSCOPE_LIMIT_FACTOR", "")
            whole = (*facts, str(Path(path).absolute()), format_, limits, VERSION, _code())
            digest.update(repr(whole).encode("utf-8", "surrogateescape"))
            step = max((found.st_size - _BLOCK_BYTES) // (_BLOCKS - 1), 1)
            for block in range(_BLOCKS):
                file.seek(block * step)
                digest.update(file.read(_BLOCK_BYTES))
    except (OSError, ValueError):
        return None
    return Snapshot(path, digest.hexdigest(), max(found.st_mtime_ns, found.st_ctime_ns))


def load(file: Snapshot) -> tuple[Space, dict[str, Any]] | None:
    """Return the kept columns of a file in this state and their facts; None without an entry."""
    if not _is_own(cache_folder()):
        return None
    memory = _mapped(file.entry)
    found = read_space(memory) if memory is not None else None
    if found is None or found[1].get("key") != file.key:
        return None
    with contextlib.suppress(OSError):
        os.utime(file.entry)
    return found


def save(file: Snapshot, space: Space, format_: str, facts: dict[str, Any]) -> bool:
    """Keep the columns of a file that was in this state before it was read.

    A cache that cannot be written is no error: a full disk, a folder that is read-only or somebody
    else's.

    Returns:
        Whether they are kept.
    """
    if time.time_ns() - file.changed_ns < MIN_AGE_NS or space.damage is not None:
        return False
    if snapshot(file.path, format_) != file:
        return False  # it changed while it was read
    try:
        folder = cache_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        size = _size(space)
        room = os.statvfs(folder) if hasattr(os, "statvfs") else None
        if room is not None and (room.f_bavail * room.f_frsize - size) < (
            MIN_FREE_FRAC * room.f_blocks * room.f_frsize
        ):
            return False
        if not _is_own(folder) or size > MAX_BYTES:
            return False
        kept = {"key": file.key, "recording": str(Path(file.path).absolute()), "format": format_}
        with _new_file(file.entry) as stream:
            write_space(stream, space, {**facts, **kept})
        shrink()
    except (OSError, MemoryError):
        return False
    return True


def is_same(entry: CachedRecording, space: Space) -> bool:
    """Whether an entry holds exactly these columns.

    Raises:
        OSError: There is no room for another copy, or the entry is gone.
    """
    import filecmp

    memory = _mapped(entry.path)
    kept = read_space(memory) if memory is not None else None
    if kept is None:
        return False
    temporary = _temporary(entry.path)
    try:
        with _created(temporary) as stream:
            write_space(stream, space, kept[1])
        return filecmp.cmp(temporary, entry.path, shallow=False)
    finally:
        remove(temporary)


def entries() -> list[CachedRecording]:
    """Return what is kept, the last used first."""
    found = []
    for path, status in _files():
        memory = _mapped(path)
        kept = read_space(memory) if memory is not None else None
        facts: dict[str, Any] = kept[1] if kept is not None else {}
        recording, format_ = facts.get("recording", ""), facts.get("format", "")
        found.append(CachedRecording(path, recording, format_, _taken(status), status.st_mtime))
    return sorted(found, key=lambda entry: -entry.used)


def remove(path: Path) -> None:
    """Remove an entry; programs that use it keep their memory of it."""
    with contextlib.suppress(OSError):
        path.unlink()


def clear() -> int:
    """Remove all entries; returns how many there were."""
    paths = [path for path, _ in _files()]
    for path in paths:
        remove(path)
    return len(paths)


def shrink(max_bytes: int = MAX_BYTES) -> None:
    """Remove the entries that were not used for longest, beyond a size, and abandoned files."""
    with contextlib.suppress(OSError):
        for path in cache_folder().glob(".*.tmp"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED_S:
                    path.unlink()
    files = sorted(_files(), key=lambda file: file[1].st_mtime)
    total = sum(_taken(status) for _, status in files)
    for path, status in files:
        if total <= max_bytes:
            return
        remove(path)
        total -= _taken(status)


def _files() -> Iterator[tuple[Path, os.stat_result]]:
    with contextlib.suppress(OSError):
        for path in cache_folder().glob(f"*{_SUFFIX}"):
            with contextlib.suppress(OSError):
                yield path, path.stat()


def _taken(status: os.stat_result) -> int:
    """Return what a file takes of the disk: entries have holes."""
    blocks: int = getattr(status, "st_blocks", -(-status.st_size // 512))
    return blocks * 512


def _size(space: Space) -> int:
    """Return what an entry takes at most, roughly."""
    events, stats = len(space.events), len(space.event_stats)
    return 29 * events + 13 * stats + len(space.buffer)


def _is_own(folder: Path) -> bool:
    """Whether a folder is this user's, and nobody else may put files into it."""
    try:
        found = folder.stat()
    except OSError:
        return False
    return _is_users(found)


def _is_users(found: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or (
        found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _mapped(path: Path) -> memoryview | None:
    """Return the bytes of an entry of this user; writing to them changes only this process."""
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or not _is_users(found) or not found.st_size:
                return None
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that takes its place when it is whole, and that only this user can read."""
    temporary = _temporary(path)
    try:
        with _created(temporary) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        remove(temporary)
        raise


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")


def _created(path: Path) -> BinaryIO:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def _digest() -> blake2b:
    import hashlib  # loads the system's OpenSSL, which a small recording does not need

    return hashlib.blake2b(digest_size=16)


@cache
def _code() -> str:
    """Return a text of this version of the code: its release, and the files that decode."""
    from stepscope import __version__, columns, formats, kernels

    digest = _digest()
    for package in (columns, formats, kernels):
        for folder in package.__path__:
            for path in sorted(Path(folder).rglob("*")):
                if path.suffix in (".py", ".so", ".pyd"):
                    found = path.stat()
                    facts = (path.name, found.st_size, found.st_mtime_ns)
                    digest.update(repr(facts).encode())
    return f"{__version__} {digest.hexdigest()}"
