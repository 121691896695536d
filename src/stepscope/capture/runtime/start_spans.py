"""Known work of a program's start: imports, device initialisation, tracing, compilation, reads.

``install`` times imports where the interpreter hands them to ``importlib``: only modules that are
not loaded yet come by. ``around`` times calls of functions that a hook names. Only the main thread
is timed: a start is over when it is ready. After ``stop`` imports go their old way, and a timed
function costs one comparison.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

from stepscope.capture.runtime import machine
from stepscope.schema import names

# Shorter imports of the same package are part of the one around them; still shorter ones are
# dropped.
_SAME_PACKAGE_NS, _SHORTEST_NS = 1_000_000, 20_000
# Programs that trace in each step would fill the memory.
_MOST_SPANS: Final = 50_000
_BOOTSTRAP: Final[Any] = sys.modules["_frozen_importlib"]


class StartSpan(NamedTuple):
    """A time of known work on the main thread.

    Attributes:
        kind: One of ``names.START_KINDS``.
        name: Package, function, file or host.
        place: Line of the program that asked for it, as ``file:line``; "" if unknown.
        begin_ns, end_ns: Since 1970.
        bytes: Size of what it reads; 0 if unknown.
        cache: "hit" or "miss" of a cache of compiled code; "" if none was asked.
    """

    kind: str
    name: str
    place: str
    begin_ns: int
    end_ns: int
    bytes: int = 0
    cache: str = ""


class StartSpans:
    """The spans of one process.

    Attributes:
        exec_ns: When the process began.
        installed_ns: When the first of our code ran in it.
        is_late: Whether other packages were imported before, by a program that calls ``init``.
        cache: Result of the last lookup in a cache of compiled code; "" after its use.
        compiled_ns: When the last span of tracing or compilation ended; 0 before the first.
    """

    def __init__(self, installed_ns: int = 0, *, is_late: bool = False) -> None:
        now_ns = time.time_ns()
        self.installed_ns = installed_ns or now_ns
        self.is_late = is_late
        self.exec_ns = now_ns - (machine.process_age_ns() or 0)
        self.cache = ""
        self.compiled_ns = 0
        self._spans: list[StartSpan] = []
        self._packages: list[str] = []
        self._names: list[str] = []
        self._main = threading.main_thread().ident
        self._find: Callable[..., Any] | None = None

    def take(self) -> list[StartSpan]:
        """The spans that ended since the last time."""
        taken, self._spans = self._spans, []
        return taken

    def add(self, span: StartSpan) -> None:
        """Keep a span, unless there are too many."""
        if span.kind in names.START_COMPILES:
            self.compiled_ns = span.end_ns
        if len(self._spans) < _MOST_SPANS:
            self._spans.append(span)

    def is_main(self) -> bool:
        """Whether the calling thread is the one that is timed."""
        return threading.get_ident() == self._main

    @property
    def enclosing(self) -> str:
        """Name of the innermost timed call; "" outside of all."""
        return self._names[-1] if self._names else ""

    def call(self, kind: str, name: str, size: int, function: Callable[[], Any]) -> Any:
        """Time a call on the main thread."""
        place, begin_ns = _asking_line(), time.time_ns()
        self._names.append(name)
        try:
            return function()
        finally:
            self._names.pop()
            cache, self.cache = self.cache, ""
            self.add(StartSpan(kind, name, place, begin_ns, time.time_ns(), size, cache))

    def time_imports(self) -> None:
        """Time imports from now on."""
        self._find = find = _BOOTSTRAP._find_and_load
        packages = self._packages

        def _find_and_load(name: str, import_: Any) -> Any:
            if threading.get_ident() != self._main:
                return find(name, import_)
            package = name.partition(".")[0]
            outer = packages[-1] if packages else ""
            packages.append(package)
            begin_ns = time.time_ns()
            try:
                return find(name, import_)
            finally:
                packages.pop()
                end_ns = time.time_ns()
                least_ns = _SAME_PACKAGE_NS if package == outer else _SHORTEST_NS
                if end_ns - begin_ns >= least_ns:
                    place = _importing_line(package)
                    self.add(StartSpan("import", package, place, begin_ns, end_ns))

        # Tracebacks of failing imports leave out frames of importlib, and so this one.
        _find_and_load.__code__ = _find_and_load.__code__.replace(
            co_filename=find.__code__.co_filename
        )
        _BOOTSTRAP._find_and_load = _find_and_load

    def stop_imports(self) -> None:
        """Imports go their old way again."""
        find, self._find = self._find, None
        if find is not None:
            _BOOTSTRAP._find_and_load = find


_active: StartSpans | None = None


def active() -> StartSpans | None:
    """The spans of this process while its start is recorded."""
    return _active


def install(installed_ns: int = 0) -> StartSpans:
    """Time this process's start from now on.

    Args:
        installed_ns: When the first of our code ran in a program that calls us; 0: now, before it.
    """
    global _active
    _active = StartSpans(installed_ns, is_late=installed_ns > 0 and bool(_foreign_packages()))
    _active.time_imports()
    return _active


def _foreign_packages() -> set[str]:
    """Loaded packages that neither Python nor we import."""
    loaded = {
        name.partition(".")[0]
        for name, module in list(sys.modules.items())
        if "-packages" in (getattr(module, "__file__", None) or "")
    }
    return loaded - _OUR_PACKAGES


def stop() -> None:
    """End it; also in a forked child, which starts with everything loaded."""
    global _active
    spans, _active = _active, None
    if spans is not None:
        spans.stop_imports()


def around(
    owner: Any,
    name: str,
    kind: str,
    label: Callable[..., str] | str,
    *,
    is_once: bool = False,
    reads: bool = False,
) -> None:
    """Time calls of a function.

    Args:
        owner: Module or class that has it.
        name: Its name there.
        kind: One of ``names.START_KINDS``.
        label: Name of the span, or a function of the call's arguments that returns it.
        is_once: Only the first call does the work: later ones are not even wrapped.
        reads: The first argument names a file, whose size is noted.

    Raises:
        AttributeError: There is no such function.
    """
    function = getattr(owner, name)

    @functools.wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        spans = _active
        if spans is None or not spans.is_main():
            return function(*args, **kwargs)
        if is_once:
            setattr(owner, name, function)
        try:
            text = label if isinstance(label, str) else label(*args, **kwargs)
            size = _size_of(args[0]) if reads and args else 0
        except Exception:  # the program's call goes on, whatever its arguments are
            text, size = getattr(function, "__name__", name), 0
        return spans.call(kind, text, size, lambda: function(*args, **kwargs))

    setattr(owner, name, timed)


def file_label(what: str) -> Callable[..., str]:
    """A label for readers: the reader and the name of the file that is its first argument."""

    def label(file: Any, *_: Any, **__: Any) -> str:
        path = getattr(file, "name", file)
        return f"{what}: {Path(os.fspath(path)).name}" if _is_path(path) else what

    return label


def _is_path(value: object) -> bool:
    return isinstance(value, (str, os.PathLike))


def _size_of(file: Any) -> int:
    path = getattr(file, "name", file)
    return Path(path).stat().st_size if _is_path(path) else 0


def _importing_line(package: str) -> str:
    """The innermost line outside of importlib and of the package: it may load its parts lazily.

    "" where there is none: Python itself imports runpy before there is a frame.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        file = frame.f_code.co_filename
        is_own = f"{os.sep}{package}{os.sep}" in file
        if not (is_own or file.startswith(_IMPORTERS)):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _asking_line() -> str:
    """The innermost line outside of Stepscope, functools and installed packages."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code
        is_library = "-packages" in code.co_filename or code.co_filename.startswith(_LIBRARIES)
        if not is_library:
            return f"{code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


# What importing us imports, and what an installation has Python import.
_OUR_PACKAGES: Final = frozenset({"stepscope", "numpy", "_distutils_hack", "sitecustomize"})
_IMPORTERS: Final = ("<frozen", f"{Path(importlib.__file__).parent}{os.sep}", __file__)
_LIBRARIES: Final = (
    f"{Path(__file__).parents[2]}/",
    f"{Path(importlib.__file__).parents[1]}/",
    "<frozen",
)
