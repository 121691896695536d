"""PyTorch's profiler as we want it, in each of its versions, and its trace as a file."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import shutil
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any, Final

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.runtime import machine
from stepscope.capture.torch.open_at_stop import Ended, ledger
from stepscope.formats.kineto.reading.texts import lenient_json

_COMPILER: Final = "torch._inductor.config"
#: The ``host_tracer_level`` from which shapes of ops are recorded; they cost a sixth of an op more.
_SHAPES_LEVEL: Final = 2
#: The level from which the host is recorded at all.
_HOST_LEVEL: Final = 1
_UNFINISHED: Final = b'"finished": false'
_ADDRESS_KEY: Final = b'"Addr": '
_PHASE_KEY: Final = b'"ph": "'
_RANGE_PHASE: Final = b'"ph": "X"'
_NAME_KEY: Final = re.compile(rb'"name": ("(?:[^"\\]|\\.)*")')
_MAX_NAMES: Final = 5
_PREFIX: Final = "stepscope-trace-"
_ABANDONED_SECONDS: Final = 3600.0


def wants_shapes(options: ProfilerOptions) -> bool:
    """Whether the shapes of ops are asked for."""
    return options.host_tracer_level >= _SHAPES_LEVEL


def watches_host(options: ProfilerOptions) -> bool:
    """Whether anything of the host is asked for."""
    return options.host_tracer_level >= _HOST_LEVEL


def new_profile(
    options: ProfilerOptions, *, is_local: bool, has_shapes: bool, has_memory: bool
) -> Any:
    """A ``torch.profiler.profile`` that has not begun; None if nothing is left to record.

    Args:
        options: What is asked for.
        is_local: Watch the thread that begins it, with allocations; else all threads.
        has_shapes: Record the shapes of ops.
        has_memory: Record allocations.
    """
    import torch
    from torch._C._profiler import _ExperimentalConfig

    kinds = torch.profiler.ProfilerActivity
    activities = [kinds.CPU] if watches_host(options) else []
    if options.device_tracer_level > 0:
        activities += [kind for kind in torch.profiler.supported_activities() if kind != kinds.CPU]
    if not activities:
        return None
    wanted: dict[str, Any] = {"trace_only": True, "profile_all_threads": not is_local}
    while True:
        try:
            config = _ExperimentalConfig(**wanted)
            break
        except TypeError:
            # Older versions know neither, or only one: slower, and of this thread alone.
            if not wanted:
                raise
            wanted.pop(next(iter(wanted)))
    arguments: dict[str, Any] = {
        "activities": activities,
        "record_shapes": has_shapes,
        "profile_memory": has_memory,
        "with_stack": options.python_tracer_level > 0,
        "experimental_config": config,
    }
    kind = torch.profiler.profile
    if _COMPILER not in sys.modules:
        kind = _without_compiler(kind)
    try:
        return kind(**arguments, acc_events=False)
    except TypeError:  # before 2.5
        return kind(**arguments)


def can_watch_all() -> bool:
    """Whether this PyTorch can record all threads; older ones cannot."""
    try:
        from torch._C._profiler import _ExperimentalConfig

        _ExperimentalConfig(profile_all_threads=True)
    except (ImportError, TypeError):
        return False
    return True


def _without_compiler(kind: Any) -> Any:
    """The class ``torch.profiler.profile`` for a program that has not loaded PyTorch's compiler.

    A profile that begins asks whether there is a compiler, and that loads 800 modules on this
    thread, for seconds. A program that loads them at that moment itself (its first optimizer does)
    fails: the two threads wait for each other, and Python lets one go on with modules that are
    half there. A compiler that is not loaded has compiled nothing: the answer "none" is right.
    """
    function = getattr(kind, "prepare_trace", None)
    if not isinstance(function, types.FunctionType) or "torch" not in function.__globals__:
        return kind
    names = {**function.__globals__, "torch": _NoCompiler(function.__globals__["torch"])}
    copy = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return type(kind.__name__, (kind,), {"prepare_trace": copy})


class _NoCompiler:
    """A module without its ``_inductor``."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name == "_inductor":
            raise AttributeError(name)
        return getattr(self._module, name)


class Export:
    """A trace in memory-backed storage if available; the file is removed at the end of a ``with``.

    Args:
        profile: The profiler; this is to be the last reference, for its memory (a kB an event)
            is to go before the trace is read.
        ended: Learns what the profiler left open.
    """

    def __init__(self, profile: Any, ended: Ended) -> None:
        self._profile = profile
        self._ended = ended
        self._folder: Path | None = None

    def write(self) -> None:
        """Write it; once."""
        memory = Path("/dev/shm")
        place = memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
        _remove_abandoned(place)
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=place))
        profile, self._profile = self._profile, None
        try:
            profile.export_chrome_trace(str(self._path))
            self._ended.tell(unfinished(self._path))
        finally:
            ledger.watch(self._ended)

    @property
    def _path(self) -> Path:
        assert self._folder is not None
        return self._folder / "trace.json"

    def __enter__(self) -> Path:
        if self._folder is None:
            self.write()
        return self._path

    def __exit__(self, *exc: object) -> None:
        self._remove()

    # Neither a TemporaryDirectory nor a weakref.finalize: one goes when the interpreter begins to
    # end, the other does nothing from then on, and the last chunk is read only after that.
    def __del__(self) -> None:
        self._remove()

    def _remove(self) -> None:
        folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(place: Path) -> None:
    """Remove old traces of processes that have ended; killed ones leave theirs."""
    for folder in place.glob(f"{_PREFIX}*-*"):
        process = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):  # another user's, or gone meanwhile
            is_old = time.time() - folder.stat().st_mtime > _ABANDONED_SECONDS
            if is_old and process.isdecimal() and not machine.runs_elsewhere(int(process)):
                shutil.rmtree(folder, ignore_errors=True)


def unfinished(path: Path) -> tuple[str, ...]:
    """Names of ranges that had not ended when the recording did, each once; at most some.

    Looks for the mark alone, a second for ten million events.
    """
    found: dict[str, None] = {}
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        at = text.find(_UNFINISHED)
        while at >= 0 and len(found) < _MAX_NAMES:
            # Allocations, which have no end, say it as well; there are many.
            if text.rfind(_ADDRESS_KEY, at - len(_ADDRESS_KEY) - 24, at) < 0:
                begin = text.rfind(_PHASE_KEY, 0, at)
                if text[begin : begin + len(_RANGE_PHASE)] == _RANGE_PHASE:
                    name = _NAME_KEY.search(text, begin, at)
                    found[lenient_json(name[1]) if name else "an op"] = None
            at = text.find(_UNFINISHED, at + 1)
    return tuple(found)
