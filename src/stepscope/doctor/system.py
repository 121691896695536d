"""The machine as the checks see it: files, environment, processes, libraries, packages."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

_MOST_TEXT_BYTES = 1 << 16


class Library(Protocol):
    """A shared library that was loaded."""

    def number(self, function: str) -> int | None:
        """What a function ``int f(int *out)`` writes; None when it fails or is not there."""
        ...


class System(Protocol):
    """All a check may know of a machine."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables of this process."""
        ...

    @property
    def platform(self) -> str:
        """As ``sys.platform``."""
        ...

    def text(self, path: str) -> str | None:
        """The beginning of a text file; None when it cannot be read."""
        ...

    def exists(self, path: str) -> bool:
        """Whether something is there."""
        ...

    def may_use(self, path: str) -> bool:
        """Whether this user may read and write it."""
        ...

    def found(self, pattern: str) -> list[str]:
        """Paths that match a glob pattern, sorted."""
        ...

    def free_bytes(self, path: str) -> int | None:
        """Room on the disk of a path; None when unknown."""
        ...

    def library(self, name: str) -> Library | str:
        """A shared library by name or path, or why it cannot be loaded."""
        ...

    def version(self, package: str) -> str | None:
        """Version of an installed Python package, without importing it."""
        ...

    def requires(self, package: str) -> list[str]:
        """What an installed package asks for, as in its metadata."""
        ...

    def package_folder(self, package: str) -> str | None:
        """The folder an installed package's files are named from."""
        ...

    def processes(self) -> dict[int, str]:
        """Names of the processes that can be seen, by number."""
        ...

    def clock_state(self) -> tuple[bool, float] | None:
        """Whether the clock is synchronised, and its estimated error in s; None when unknown."""
        ...


class _Loaded:
    def __init__(self, handle: ctypes.CDLL) -> None:
        self._handle = handle

    def number(self, function: str) -> int | None:
        """See ``Library``."""
        try:
            call = getattr(self._handle, function)
        except AttributeError:
            return None
        out = ctypes.c_int(0)
        return out.value if call(ctypes.byref(out)) == 0 else None


class Machine:
    """This machine."""

    @property
    def environment(self) -> Mapping[str, str]:
        """See ``System``."""
        return os.environ

    @property
    def platform(self) -> str:
        """See ``System``."""
        return sys.platform

    def text(self, path: str) -> str | None:
        """See ``System``."""
        try:
            with Path(path).open("rb") as file:
                return file.read(_MOST_TEXT_BYTES).decode("utf-8", "replace")
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        """See ``System``."""
        return os.path.lexists(path)

    def may_use(self, path: str) -> bool:
        """See ``System``."""
        return os.access(path, os.R_OK | os.W_OK)

    def found(self, pattern: str) -> list[str]:
        """See ``System``."""
        return sorted(map(str, Path("/").glob(pattern.lstrip("/"))))

    def free_bytes(self, path: str) -> int | None:
        """See ``System``."""
        try:
            return shutil.disk_usage(path).free
        except OSError:
            return None

    def library(self, name: str) -> Library | str:
        """See ``System``."""
        try:
            return _Loaded(ctypes.CDLL(name))
        except OSError as error:
            return str(error)

    def version(self, package: str) -> str | None:
        """See ``System``."""
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return None

    def requires(self, package: str) -> list[str]:
        """See ``System``."""
        try:
            return importlib.metadata.requires(package) or []
        except importlib.metadata.PackageNotFoundError:
            return []

    def package_folder(self, package: str) -> str | None:
        """See ``System``."""
        try:
            return str(importlib.metadata.distribution(package).locate_file(""))
        except importlib.metadata.PackageNotFoundError:
            return None

    def processes(self) -> dict[int, str]:
        """See ``System``."""
        named = {}
        for path in self.found("/proc/[0-9]*/comm"):
            text = self.text(path)
            if text is not None:
                named[int(path.split("/")[2])] = text.strip()
        return named

    def clock_state(self) -> tuple[bool, float] | None:
        """See ``System``."""
        if sys.platform != "linux":
            return None
        return _adjtimex()


class _Timex(ctypes.Structure):
    """The beginning of Linux's ``struct timex``, with room for the rest of it."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_long * 32),
    )


_UNSYNCHRONISED = 0x40  # STA_UNSYNC of adjtimex(2)


def _adjtimex() -> tuple[bool, float] | None:
    """Ask the kernel about its clock; changes nothing (``modes`` is 0), needs no rights."""
    state = _Timex()
    try:
        done = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(state))
    except (AttributeError, OSError):
        return None
    if done < 0:
        return None
    return not state.status & _UNSYNCHRONISED, state.esterror / 1e6
