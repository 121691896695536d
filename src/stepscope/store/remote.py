"""Recordings behind a URL (``gs://``, ``s3://``, ``memory://`` …), through fsspec."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO, cast

from stepscope.errors import StoreError
from stepscope.store.tree import Entry, EntryKind
from stepscope.urls import file_system


@dataclass(frozen=True)
class RemoteTree:
    """A folder of an fsspec file system."""

    system: Any
    remote: bool = field(default=True, init=False)

    def scan(self, folder: str) -> Iterator[Entry]:
        """Entries of a folder in name order."""
        listing = self.system.ls(self.system._strip_protocol(folder), detail=True)
        for info in sorted(listing, key=lambda info: str(info["name"])):
            path = self.system.unstrip_protocol(info["name"])
            kind: EntryKind = "folder" if info["type"] == "directory" else "file"
            name = posixpath.basename(str(info["name"]).rstrip("/"))
            if name:
                yield Entry(path, name, kind, int(info.get("size") or 0), _modified(info))

    def head(self, path: str, size: int) -> bytes:
        """The first ``size`` bytes of a file."""
        return cast(bytes, self.system.cat_file(self.system._strip_protocol(path), end=size))


def _modified(info: dict[str, Any]) -> float:
    for key in ("mtime", "LastModified", "updated", "last_modified", "created"):
        value = info.get(key)
        if isinstance(value, (int, float)):
            return float(value)
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, str):
            try:
                return datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp()
            except ValueError:
                continue
    return 0.0


def open_tree(url: str) -> tuple[RemoteTree, str, Entry | None]:
    """The tree a URL lies in, its root, and the entry when the URL is one file."""
    system, path = file_system(url, StoreError)
    tree = RemoteTree(system)
    root = system.unstrip_protocol(path)
    try:
        info = system.info(path)
    except FileNotFoundError as error:
        raise StoreError(
            "There is no such file or folder.",
            where=url,
            why="The remote file system has nothing under this name.",
            hint="Check the spelling and the credentials.",
            slug="no-such-path",
        ) from error
    except Exception as error:  # fsspec back ends raise their own kinds: all mean "not reachable"
        raise StoreError(
            "The remote file system does not answer.",
            where=url,
            why=f"{type(error).__name__}: {error}",
            hint="Check the network, the name and the credentials.",
            slug="remote-unreachable",
        ) from error
    if info["type"] == "directory":
        return tree, root, None
    entry = Entry(
        root, posixpath.basename(path), "file", int(info.get("size") or 0), _modified(info)
    )
    return tree, root, entry


def open_binary(url: str) -> tuple[BinaryIO, int]:
    """A remote file for reading, and its size in bytes."""
    system, path = file_system(url, StoreError)
    try:
        return cast(BinaryIO, system.open(path, "rb")), int(system.info(path).get("size") or 0)
    except OSError as error:
        raise StoreError(
            "The remote file cannot be read.",
            where=url,
            why=str(error),
            hint="Check the network and the credentials.",
            slug="remote-unreachable",
        ) from error
