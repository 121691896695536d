"""Recordings behind a URL (``gs://``, ``s3://``, ``memory://`` …), through fsspec."""

from __future__ import annotations

import errno
import io
import posixpath
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from math import isfinite
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Final, cast

from stepscope.errors import StoreError
from stepscope.records import dataclass, field, replace
from stepscope.store import web
from stepscope.store.ranges import RangedFile, fetch
from stepscope.store.tree import Answer, Entry, EntryKind
from stepscope.store.web import WebFolder
from stepscope.urls import file_system, is_url

# A folder with this many folders or more is listed with all below it at once.
_MANY_FOLDERS: Final = 16
_HEADS_AT_ONCE: Final = 32
#: The first bytes kept of all files together.
_MAX_HEAD_BYTES: Final = 64 << 20
#: What stores call the version of an object's bytes, or the time when they were written.
VERSIONS: Final = (
    "etag",
    "ETag",
    "generation",
    "md5Hash",
    "mtime",
    "LastModified",
    "last_modified",
    "updated",
    "created",
)


class Heads:
    """First bytes by file and version; the least recently used go when there is no room.

    Identifying a file takes a request of its first bytes. A server looks into its folder again and
    again, and files that have not changed since are not requested twice.
    """

    def __init__(self, most_bytes: int = _MAX_HEAD_BYTES) -> None:
        self._most_bytes = most_bytes
        self._found: OrderedDict[tuple[str, int, str], tuple[int, bytes]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, entry: Entry, size: int) -> bytes | None:
        """The first ``size`` bytes; None where they are not known of this version."""
        with self._lock:
            asked, head = self._found.get(_head_key(entry), (-1, b""))
            if asked < size and not 0 <= entry.size_bytes <= asked:
                return None
            self._found.move_to_end(_head_key(entry))
            return head[:size]

    def keep(self, entry: Entry, size: int, head: bytes) -> None:
        """Remember what a file gave when asked for its first ``size`` bytes."""
        if not entry.version:  # nobody could tell whether it is still the same
            return
        with self._lock:
            _, before = self._found.pop(_head_key(entry), (0, b""))
            self._bytes -= len(before)
            self._found[_head_key(entry)] = size, head
            self._bytes += len(head)
            while self._bytes > self._most_bytes:
                _, (_, oldest) = self._found.popitem(last=False)
                self._bytes -= len(oldest)


def _head_key(entry: Entry) -> tuple[str, int, str]:
    return entry.path, entry.size_bytes, entry.version


_HEADS: Final = Heads()


@contextmanager
def reading(url: str) -> Iterator[None]:
    """Turn whatever goes wrong within into a StoreError: back ends raise kinds of their own."""
    try:
        yield
    except StoreError:
        raise
    except FileNotFoundError as error:
        raise StoreError(
            "There is no such file or folder.",
            where=url,
            why="The remote file system has nothing under this name.",
            hint="Check the spelling and the credentials.",
            slug="no-such-path",
        ) from error
    except Exception as error:
        raise StoreError(
            "The remote file system does not answer.",
            where=url,
            why=_words(error),
            hint="Check the network, the name and the credentials.",
            slug="remote-unreachable",
        ) from error


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


@dataclass(frozen=True)
class RemoteTree:
    """A folder of an fsspec file system."""

    system: Any
    web: WebFolder | None = None
    remote: bool = field(default=True, init=False)
    _listed: dict[str, list[dict[str, Any]]] = field(default_factory=dict, init=False, repr=False)

    def scan(self, folder: str) -> Iterator[Entry]:
        """Entries of a folder in name order; ``OSError`` for whatever the back end raises.

        Below a folder of many folders all is listed at once: a store answers for 1,000 names in
        the time that it needs for one folder of one host.
        """
        path = self.system._strip_protocol(folder).rstrip("/")
        try:
            if self.web is not None:
                yield from self.web.entries(folder)
                return
            listing = self._listed.pop(path, None)
            if listing is None:
                listing = self.system.ls(path, detail=True)
                if sum(map(_is_folder, listing)) >= _MANY_FOLDERS:
                    self._listed.update(_group_by_folder(self.system.find(path, detail=True), path))
                    listing = self._listed.pop(path, listing)
            entries = [self._entry(info) for info in sorted(listing, key=_name)]
        except OSError:
            raise
        except Exception as error:
            raise OSError(errno.EIO, _words(error)) from error
        yield from (entry for entry in entries if entry.name)

    def _entry(self, info: dict[str, Any]) -> Entry:
        path = self.system.unstrip_protocol(_name(info))
        kind: EntryKind = "folder" if info.get("type") == "directory" else "file"
        name = posixpath.basename(_name(info).rstrip("/"))
        return Entry(path, name, kind, _size(info), _modified(info), version=_version(info))

    def head(self, entry: Entry, size: int) -> bytes:
        """The first ``size`` bytes of a file; ``OSError`` for whatever the back end raises."""
        known = _HEADS.get(entry, size)
        if known is not None:
            return known
        try:
            found = _part(self.system, self.system._strip_protocol(entry.path), 0, size)
        except OSError:
            raise
        except Exception as error:
            raise OSError(errno.EIO, _words(error)) from error
        found = found[:size]  # a server may not know ranges
        _HEADS.keep(entry, size, found)
        return found

    def map_entries(
        self, look: Callable[[Entry], Answer], entries: Iterable[Entry]
    ) -> list[Answer]:
        """What ``look`` says of each file, in order; each waits for the store, so side by side."""
        with ThreadPoolExecutor(_HEADS_AT_ONCE, "stepscope-head") as pool:
            return list(pool.map(look, entries))


def _group_by_folder(
    files: dict[str, dict[str, Any]], root: str
) -> dict[str, list[dict[str, Any]]]:
    """What each folder below ``root`` holds, from a list of all files."""
    found: dict[str, list[dict[str, Any]]] = {root: []}
    for info in files.values():
        inside, entry = _name(info).rstrip("/"), info
        while (folder := posixpath.dirname(inside)) not in found:
            found[folder] = [entry]
            inside, entry = folder, {"name": folder, "size": 0, "type": "directory"}
            if len(folder) <= len(root):
                return {}  # names of another form than asked for: folder by folder, then
        found[folder].append(entry)
    return found


def _is_folder(info: dict[str, Any]) -> bool:
    return info.get("type") == "directory"


def _name(info: dict[str, Any]) -> str:
    return str(info["name"])


def _size(info: dict[str, Any]) -> int:
    size = info.get("size")
    return size if isinstance(size, int) and size > 0 else 0


def _version(info: dict[str, Any]) -> str:
    """What a store says of an object that is another after each change; "" where it says none."""
    said = [str(info[key]) for key in VERSIONS if info.get(key)]
    return " ".join(said)


def _modified(info: dict[str, Any]) -> float:
    for key in ("mtime", "LastModified", "updated", "last_modified", "created"):
        value = info.get(key)
        try:
            if isinstance(value, str):
                value = datetime.fromisoformat(value.replace("Z", "+00:00"))
            if isinstance(value, datetime):
                value = value.timestamp()
        except (ValueError, OverflowError):  # no date, or none that the machine can reckon with
            continue
        if isinstance(value, (int, float)) and isfinite(value):
            return float(value)
    return 0.0


def open_tree(url: str) -> tuple[RemoteTree, str, Entry | None]:
    """The tree a URL lies in, its root, and the entry when the URL is one file."""
    with reading(url):
        system, path = file_system(url, StoreError)
        if web.is_web(system):
            return _open_web(system, path)
        info = system.info(path)
        root = system.unstrip_protocol(path)
        tree = RemoteTree(system)
        if info.get("type") == "directory":
            return tree, root, None
        name = posixpath.basename(path)
        entry = Entry(root, name, "file", _size(info), _modified(info), version=_version(info))
        return tree, root, entry


def _open_web(system: Any, path: str) -> tuple[RemoteTree, str, Entry | None]:
    """The same of a plain web server, where a page with a slash at its end is a folder."""
    info = system.info(path)
    tree = RemoteTree(system, WebFolder(system))
    folder = web.folder_of(info, path)
    if folder:
        return tree, folder.rstrip("/"), None
    entry = web.entry_of(info, path)
    return tree, path, replace(entry, size_bytes=max(entry.size_bytes, 0))


def _part(system: Any, path: str, begin: int, end: int) -> bytes:
    """Bytes of a file; of a web server without ranges no more is taken either."""
    if web.is_web(system):
        return web.part(system, path, begin, end - begin)
    return fetch(system, path, begin, end)


def files_inside(url: str) -> list[tuple[str, str]]:
    """Names and URLs of the files right in a folder; none where the URL is a file.

    Raises:
        StoreError: It does not answer.
    """
    tree, root, one_file = open_tree(url)
    if one_file is not None:
        return []
    with reading(url):
        entries = [one for one in tree.scan(root) if one.kind == "file" and "\\" not in one.name]
    return [(one.name, one.path) for one in entries]


def _knows_ranges(system: Any, path: str) -> bool:
    """Whether parts of a file can be had: some web servers give files as a whole only."""
    if not web.is_web(system):
        return True
    try:
        web.part(system, path, 1, 1)
    except OSError:
        return False
    return True


def open_binary(url: str) -> tuple[BinaryIO, int]:
    """A remote file for reading, and its size in bytes, as far as the back end is right about it.

    Raises:
        StoreError: It cannot be opened; what goes wrong later is ``reading``'s to catch.
    """
    with reading(url):
        system, path = file_system(url, StoreError)
        size = _size(system.info(path))
        if not size or not _knows_ranges(system, path):  # there is nothing to divide
            if web.is_web(system):
                return cast(BinaryIO, io.BufferedReader(web.WebStream(system, path))), size
            return cast(BinaryIO, system.open(path, "rb")), 0
        return cast(BinaryIO, io.BufferedReader(RangedFile(system, path, size), 1 << 20)), size


def part_of(url: str, begin: int, end: int) -> bytes:
    """The bytes of a remote file from ``begin`` to ``end``, fewer where it ends.

    Raises:
        StoreError: It does not answer.
    """
    with reading(url):
        system, path = file_system(url, StoreError)
        return _part(system, path, begin, end)[: end - begin]  # a server may not know ranges


def stamp(path: str) -> tuple[str, ...]:
    """Return the version of a file's bytes: it changes when the file is written.

    Raises:
        StoreError: It is not there, or does not answer.
    """
    if is_url(path):
        with reading(path):
            system, inside = file_system(path, StoreError)
            system.invalidate_cache(inside)
            info = system.info(inside)
        return tuple(str(info.get(key)) for key in ("size", *VERSIONS))
    try:
        found = Path(path).stat()
    except OSError as error:
        raise StoreError(
            "The recording cannot be read.",
            where=path,
            why=f"The system says: {error.strerror or error}.",
            hint="Restore the file, or look again: it may have been moved.",
            slug="unreadable-path",
        ) from error
    return str(found.st_size), str(found.st_mtime_ns), str(found.st_ino)
