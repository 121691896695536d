"""TensorFlow, through its own profiler session.

TensorFlow hands XSpaces out through its file system layer only, so a session exports into ``ram://``
(its file system in memory) and is read back from there: 0.2 ms beside the export itself.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from stepscope.capture.file.event_count import count_events
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Note, Recorded
from stepscope.capture.tracing import Emitter, trace_me

_INTERNAL: Final = "tensorflow.python.profiler.internal"
_folders: Final = itertools.count()
_STATISTICS: Final = ("_ZN3tsl23EnableCPUAllocatorStatsEv", "_ZN3tsl24DisableCPUAllocatorStatsEv")


class _Level:
    """A level that TensorFlow takes for the number it is.

    TensorFlow 2.20 and 2.21 first try to read every option as a bool, which any int can be, and
    then drop it. What has no truth value of its own falls through to the integers.
    """

    __slots__ = ("_level",)

    def __init__(self, level: int) -> None:
        self._level = level

    def __index__(self) -> int:
        return self._level


class TensorFlowRecorder:
    """Ops, annotations, tf.data, memory and devices of a loaded TensorFlow."""

    name = "tensorflow"

    def __init__(self) -> None:
        self._session: Any = None
        self._folder = ""
        self._quiet: Callable[[], object] | None = None
        self._notes: list[Note] = []

    def unavailable(self) -> str | None:
        """None when TensorFlow is loaded and has the interface."""
        module = sys.modules.get("tensorflow")
        if module is None:
            return "TensorFlow is not loaded."
        if getattr(getattr(module, "__spec__", None), "_initializing", False):
            return "TensorFlow is being imported."
        try:
            _profiler()
            _gfile()
        except ImportError as error:
            return f"This TensorFlow has no profiler that can be driven: {error}."
        return None

    def start(self, options: ProfilerOptions) -> None:
        """Begin a session; raises ``RuntimeError`` when another profiler holds TensorFlow's."""
        self._notes = []
        if options.memory:
            self._count_memory()
        session = _profiler().ProfilerSession()
        self._folder = f"ram://stepscope/{os.getpid()}_{next(_folders)}"
        levels = {
            "host_tracer_level": options.host_tracer_level,
            "python_tracer_level": options.python_tracer_level,
            "device_tracer_level": options.device_tracer_level,
        }
        try:
            session.start(self._folder, {key: _Level(level) for key, level in levels.items()})
        except Exception as error:
            self._stop_counting()
            if "profiling session" in str(error).lower():
                raise RuntimeError(
                    "another profiler is recording TensorFlow in this process (tf.profiler, a "
                    "TensorBoard callback or a capture from outside); stop it first"
                ) from error
            raise
        self._session = session

    def annotation(self) -> Emitter:
        """Annotations through TensorFlow's own."""
        return trace_me(
            import_module("tensorflow.python.profiler.internal._pywrap_traceme").TraceMe
        )

    def collect(self) -> Recorded:
        """The session's XSpace."""
        session, self._session = self._session, None
        if session is None:
            return Recorded()
        try:
            session.export_to_tb()
            data = self._exported()
        finally:
            self._stop_counting()
        return Recorded(data, count_events(data), tuple(self._notes))

    def drop(self) -> None:
        """End the session without exporting: ten times as cheap."""
        self._session = None
        self._stop_counting()

    def _exported(self) -> bytes:
        files = _gfile()
        found = files.get_matching_files_v2(f"{self._folder}/plugins/profile/*/*.xplane.pb")
        if not found:
            return b""
        with files.FileIO(found[0], "rb") as file:
            data: bytes = file.read()
        files.delete_recursively_v2(self._folder)
        if not data:
            # XLA's writer turns more than protobuf can hold (2 GB) into an empty file silently.
            text = (
                "TensorFlow exported an empty recording, which usually means that it exceeded 2 GB."
            )
            hint = " Record less at a time: a lower chunk_seconds or host_tracer_level."
            self._notes.append(Note("empty-export", "error", text + hint))
        return data

    def _count_memory(self) -> None:
        """Switch on the statistics of the CPU's allocator; a TensorFlow without them is noted."""
        if os.environ.get("TF_CPU_ALLOCATOR_USE_BFC") == "1" or self._quiet is not None:
            return  # the allocator that counts anyway, or counting since the last chunk
        library = _framework_library()
        try:
            on, off = (getattr(library, name) for name in _STATISTICS)
        except AttributeError:
            text = "This TensorFlow's CPU allocator cannot start counting at run time."
            hint = " Set TF_CPU_ALLOCATOR_USE_BFC=1 before the program starts to see CPU memory."
            self._notes.append(Note("no-cpu-memory", "info", text + hint))
            return
        on()
        self._quiet = off

    def _stop_counting(self) -> None:
        if self._quiet is not None:
            self._quiet()
            self._quiet = None


def _profiler() -> Any:
    return import_module(f"{_INTERNAL}._pywrap_profiler")


def _gfile() -> Any:
    return import_module("tensorflow.python.lib.io.file_io")


def _framework_library() -> ctypes.CDLL | None:
    """TensorFlow's library, which is loaded already; None where it lies elsewhere."""
    folder = Path(str(getattr(sys.modules.get("tensorflow"), "__file__", ""))).parent
    for path in sorted(folder.glob("libtensorflow_framework.*")):
        try:
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    return None
