"""PyTorch, through its own profiler (Kineto), without the cost of its Python objects.

PyTorch's profiler records either one thread and the work it starts (autograd, too), with
allocations, or all threads without allocations; the first kind must be ended by the thread that
began it. So a recording begun by the main thread with ``memory=True`` records that thread, unless
the program has threads beside it that may run ops; any other one records all. It must not begin
inside a range that an earlier one saw begin: see ``capture.torch.open_at_stop``.

``trace_only`` keeps Kineto from making an object per event (56 µs each by ``events()``); its
trace goes to memory-backed storage as JSON, and a process of its own turns that into planes.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, Final

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Collected, Note, Recorded
from stepscope.capture.recorders.annotations import AnnotationRecorder
from stepscope.capture.runtime.frame_names import FrameNames
from stepscope.capture.runtime.machine import free_bytes, resident_bytes
from stepscope.capture.runtime.main_thread import on_main_thread, prepare
from stepscope.capture.runtime.thread_frames import is_ours, stacks
from stepscope.capture.torch.conversion import ConversionSettings, Converter
from stepscope.capture.torch.open_at_stop import Ended, ledger
from stepscope.capture.torch.open_ranges import NoQuietPlace, at_quiet_place, open_annotations
from stepscope.capture.torch.profiler import (
    Export,
    can_watch_all,
    new_profile,
    wants_shapes,
    watches_host,
)
from stepscope.capture.tracing import Emitter
from stepscope.errors import CaptureError
from stepscope.formats.kineto.annotations import encoded
from stepscope.formats.kineto.steps import StepCount, StepMark

_LOG_LEVEL: Final = "KINETO_LOG_LEVEL"
#: So many threads are named in a note.
_NAMED: Final = 3
_MAIN_THREAD_SECONDS: Final = 20.0
#: How long is looked for a quiet place to end at, and for the end of what was left open.
_QUIET_SECONDS: Final = 0.2
_LEFT_OPEN_SECONDS: Final = 2.0
#: The same for the main thread, which opens and ends nothing while it waits: frames that a thread
#: of ours looks at hold their objects for a moment longer.
_MOMENT_SECONDS: Final = 0.1
#: The ``host_tracer_level`` from which ops are recorded.
_OPS_LEVEL: Final = 2
# A heap with this much more in pieces than at the start of the recording counts as fragmented.
_MIN_GROWTH_BYTES: Final = 256 << 20
# Where threads of a pool, and loops of a server's, wait for what the program gives them.
_POOLS: Final = (
    "concurrent/futures/thread.py",
    "asyncio/base_events.py",
    "socketserver.py",
    "multiprocessing/pool.py",
    "anyio/_backends/_asyncio.py",
)
# Whose loops and pools run nothing of the program's: a notebook's, a debugger's, those of logs.
_ASIDE: Final = ("/ipykernel/", "/debugpy/", "/wandb/", "/mlflow/", "/comet_ml/", "/neptune/")


class TorchRecorder:
    """Ops, autograd, allocations, kernels and copies of a loaded PyTorch."""

    name = "torch"
    #: An op of 2.4 µs takes 4.4 with its five events recorded (torch 2.13).
    event_ns = 400
    #: 269 to 278 with shapes and allocations (torch 2.13).
    event_bytes = 270

    def __init__(self) -> None:
        self._options: ProfilerOptions | None = None
        self._is_local = False
        self._beside: tuple[str, ...] = ()
        self._profile: Any = None
        self._is_running = False
        self._steps = StepCount()
        # When a step of an optimizer's had ended just before the profiler began; None if none had.
        self._step_begun_ns: int | None = None
        self._marks: list[StepMark] = []
        self._others = AnnotationRecorder()
        self._converter = Converter()
        self._ended: Ended | None = None
        self._uncut = ""
        self._has_shapes = False
        self._heap: HeapWatch | None = None
        self.main_thread_seconds = 0.0
        self._is_light = False
        self._is_first = True

    def unavailable(self) -> str | None:
        """None when PyTorch is loaded and has its profiler."""
        torch = sys.modules.get("torch")
        if torch is None:
            return "PyTorch is not loaded."
        if getattr(getattr(torch, "__spec__", None), "_initializing", False):
            return "PyTorch is being imported."
        if not getattr(torch, "_C", None) or not hasattr(torch._C, "_autograd"):
            return "This PyTorch was built without its profiler."
        return None

    def start(self, options: ProfilerOptions) -> None:
        """Begin; raises ``RuntimeError`` when ``torch.profiler`` is recording."""
        if sys.modules["torch"].autograd.profiler._is_profiler_enabled:
            raise RuntimeError("torch.profiler is recording in this process; stop it first")
        is_main = threading.current_thread() is threading.main_thread()
        if options is not self._options:
            # Later chunks of one recording stay with what its first one chose.
            asks = options.memory and is_main
            self._beside = others_may_run_ops() if asks and can_watch_all() else ()
            self._is_local = asks and not self._beside
            if self._is_local:
                prepare()
            self._options, self._steps = options, StepCount()
            self._has_shapes, self._heap = wants_shapes(options), HeapWatch()
            self._is_light = False
        seconds = _MOMENT_SECONDS if is_main else _LEFT_OPEN_SECONDS
        why_not = ledger.why_not(is_local=self._is_local, seconds=seconds)
        if why_not is not None:
            raise RuntimeError(why_not)
        # Else it writes two lines to stderr at every start and stop.
        os.environ.setdefault(_LOG_LEVEL, "6")
        self._profile = new_profile(
            options,
            is_local=self._is_local,
            has_shapes=self._has_shapes,
            has_memory=options.memory and not self._is_light,
        )
        if self._profile is None:
            return
        if self._is_first:
            # Kineto complains on stderr unless the thread that loaded it is the first to begin.
            self._is_first = False
            if options.price is not None:  # there will be many traces
                self._converter.prepare()
            with contextlib.suppress(CaptureError):
                on_main_thread(self._begin, seconds=_QUIET_SECONDS)
                return
        self._here(self._begin)

    def is_stale(self) -> bool:
        """Whether to go on without shapes: they leave the program's heap in pieces."""
        if not (self._has_shapes and self._is_running and self._heap is not None):
            return False
        if not self._heap.is_in_pieces():
            return False
        self._has_shapes = False
        return True

    @property
    def is_detailed(self) -> bool:
        """Whether it records shapes: with them, an op costs four times as much at the end."""
        return self._has_shapes

    def lighten(self, seconds: float) -> Note | None:
        """Record only ops from the next session on; None if nothing else was recorded.

        Handing over an op's shapes and allocations takes four times as long as the op's alone.

        Args:
            seconds: How long the recording has been running.
        """
        options = self._options
        if options is None or self._is_light or not (options.memory or self._has_shapes):
            return None
        self._is_light, self._has_shapes = True, False
        return Note(
            "torch-light",
            "info",
            f"From {seconds:.1f} s on, PyTorch's ops are recorded without shapes and allocations, "
            "to stay within the price of recording. --full records them throughout.",
        )

    def forked(self) -> None:
        """In a forked child nobody takes its ops: they would fill its memory, and slow it down."""
        if self._is_running:
            sys.modules["torch"]._C._autograd._clear_callbacks()

    def begin_at_step(self) -> None:
        """An optimizer's step has ended, and the program waits there: the next one begins now."""
        self._step_begun_ns = time.time_ns()

    def _begin(self) -> None:
        self._step_begun_ns = None
        self._profile.start()
        self._is_running = True

    def _here(self, call: Callable[[], object]) -> None:
        """Do it on the thread that the profiler is bound to."""
        if self._is_local:
            on_main_thread(call, seconds=_MAIN_THREAD_SECONDS)
        else:
            call()

    def _end(self) -> None:
        if self._is_running:
            self._is_running = False
            begin = time.thread_time()
            self._profile.stop()
            self._ended = ledger.end(is_local=self._is_local)
            if threading.current_thread() is threading.main_thread():
                self.main_thread_seconds += time.thread_time() - begin

    def _end_anywhere(self) -> None:
        """End it: where it leaves nothing open if the program is soon there, else where it is."""
        if self._is_running and not self._is_local:
            with contextlib.suppress(NoQuietPlace):
                self._end_quietly()
        if self._is_running:
            self._here(self._end)

    def _end_quietly(self) -> None:
        everywhere = not self._is_local
        at_quiet_place(self._end, everywhere=everywhere, seconds=_QUIET_SECONDS)

    def annotation(self) -> Emitter:
        """Annotations as ranges of PyTorch's own, on the track of their ops."""
        elsewhere = self._others.annotation()
        if self._options is None or watches_host(self._options):
            enabled = sys.modules["torch"].autograd._profiler_enabled
            return _Annotations(enabled, elsewhere, self._mark)
        return _Annotations(lambda: False, elsewhere, self._others.step)

    def _mark(self, name: str, number: int, start_ns: int, end_ns: int) -> None:
        thread = threading.get_native_id()
        self._marks.append(StepMark(thread, name, number, start_ns, end_ns - start_ns))

    def collect(self) -> Collected:
        """The profiler's trace; what it takes to read it is left for when recording goes on."""
        self._end_anywhere()
        return self._taken(export=False)

    def cut(self) -> Collected | None:
        """A chunk of the trace; None where a range is open, and the recording goes on.

        The profiler may begin again at once: its trace was asked whether it left anything open.
        """
        if not self._is_running:
            return self.collect()
        try:
            self._end_quietly()
        except NoQuietPlace as inside:
            self._uncut = str(inside)
            return None
        return self._taken(export=True)

    def _taken(self, *, export: bool) -> Collected:
        profile, self._profile = self._profile, None
        ended, self._ended = self._ended, None
        others, marks = self._others.collect(), self._marks.copy()
        del self._marks[: len(marks)]
        begun_ns, self._step_begun_ns = self._step_begun_ns, None
        if profile is None or ended is None or self._options is None:
            return others
        trace = Export(profile, ended)
        if export:
            trace.write()
        return functools.partial(self._converted, trace, self._options, marks, others, begun_ns)

    def _converted(
        self,
        export: Export,
        options: ProfilerOptions,
        marks: list[StepMark],
        others: Recorded,
        begun_ns: int | None,
    ) -> Recorded:
        ops = options.host_tracer_level >= _OPS_LEVEL
        if begun_ns is not None:
            self._steps.end_ns = begun_ns
        settings = ConversionSettings(ops, self._steps, marks, _clock_rates())
        with export as path:
            done = self._converter.convert(path, settings, options.stop_seconds)
        self._steps = done.count
        notes = tuple(self._notes(options, done.lost))
        events = done.events + others.events
        xspace = done.xspace + others.xspace
        return Recorded(xspace, events, notes, done.seconds, done.omitted)

    def close(self) -> None:
        """End the process that converts traces."""
        self._converter.close()

    def drop(self) -> None:
        """End and forget."""
        self._end_anywhere()
        self._profile = None
        ended, self._ended = self._ended, None
        if ended is not None:
            ledger.watch(ended)
        self._marks.clear()
        self._others.drop()

    def _notes(self, options: ProfilerOptions, lost: int) -> Iterator[Note]:
        if options.memory and self._beside:
            yield Note(
                "torch-memory",
                "info",
                "PyTorch's allocations are not recorded: threads beside the main one "
                f"({', '.join(self._beside[:_NAMED])}{', …' * (len(self._beside) > _NAMED)}) may "
                "run ops, and its profiler records either the ops of all threads, or one thread's "
                "with its allocations.",
            )
        elif options.memory and not self._is_local:
            yield Note(
                "torch-memory",
                "info",
                "PyTorch's allocations are not recorded: its profiler records them only when the "
                "main thread starts the recording.",
            )
        if wants_shapes(options) and not self._has_shapes and not self._is_light:
            yield Note(
                "torch-shapes",
                "info",
                "Shapes of PyTorch's ops are recorded of the first part alone: the program's heap "
                "broke into pieces and grew, as it does where the profiler keeps something of each "
                "large tensor for them.",
            )
        if self._uncut:
            yield Note(
                "torch-uncut",
                "info",
                "A chunk of PyTorch events was written later than planned: the program was in "
                f"{self._uncut}, where PyTorch cannot stop and restart its profiler.",
            )
            self._uncut = ""
        if lost:
            text = f"{lost:,} events of PyTorch's trace could not be read and are missing."
            yield Note("torch-events-lost", "warning", text)


class _Annotations:
    """Where annotations go while PyTorch records.

    Args:
        enabled: Whether PyTorch watches the calling thread.
        elsewhere: Takes those of threads that PyTorch does not watch.
        step: Takes steps reported once they have ended.
    """

    def __init__(
        self,
        enabled: Callable[[], bool],
        elsewhere: Emitter,
        step: Callable[[str, int, int, int], None],
    ) -> None:
        self._enabled = enabled
        self._begin = sys.modules["torch"]._C._profiler._RecordFunctionFast
        self._elsewhere = elsewhere
        self.step = step

    def __call__(self, name: str, metadata: Mapping[str, Any]) -> Callable[[], object]:
        """Begin an annotation; what is returned ends it."""
        if not self._enabled():
            return self._elsewhere(name, metadata)
        opened = self._begin(encoded(name, metadata))
        opened.__enter__()
        open_annotations.add(opened)
        return functools.partial(_close, opened)


def _close(opened: Any) -> None:
    open_annotations.discard(opened)
    opened.__exit__(None, None, None)


def _clock_rates() -> dict[int, int]:
    """Highest clock of each GPU in kHz, where this PyTorch tells it."""
    torch = sys.modules["torch"]
    if not torch.cuda.is_initialized():
        return {}
    found = {}
    for index in range(torch.cuda.device_count()):
        clock = getattr(torch.cuda.get_device_properties(index), "clock_rate", None)
        if isinstance(clock, int) and clock > 0:
            found[index] = clock
    return found


class HeapWatch:
    """Tells when a heap has come to lie in pieces since the watch began.

    With shapes PyTorch's profiler keeps a small object of each tensor until it ends. Where tensors
    are on the host and large, these lie in the holes that freed tensors leave, so that the next
    tensor does not fit there: the process grows by gigabytes in seconds, and spends its time on
    new pages.
    """

    def __init__(self) -> None:
        self._free_bytes = free_bytes()
        self._seen_bytes = 0 if self._free_bytes is None else resident_bytes() or 0

    def is_in_pieces(self) -> bool:
        """Whether it is; cheap where the process has not grown since it was asked last."""
        if self._free_bytes is None:
            return False
        resident = resident_bytes() or 0
        if resident < self._seen_bytes + _MIN_GROWTH_BYTES // 2:
            return False
        self._seen_bytes = resident
        return (free_bytes() or 0) > self._free_bytes + _MIN_GROWTH_BYTES


def others_may_run_ops() -> tuple[str, ...]:
    """Names of the other threads whose stacks have code of the program's, or are a pool's.

    A server's model often runs on a thread of its own, made before the recording, and requests
    come in on others.
    """
    here = {threading.get_ident(), threading.main_thread().ident}
    named = {one.ident: one.name for one in threading.enumerate()}
    beside = {thread: chain for thread, chain in stacks().items() if thread not in here}
    return tuple(named.get(thread, f"thread {thread}") for thread in may_run_ops(beside))


def may_run_ops(chains: Mapping[int, Sequence[FrameType]]) -> list[int]:
    """Those of these threads, by their stacks; threads of Stepscope's and of libraries are none."""
    names = FrameNames()
    found = []
    for thread, chain in chains.items():
        if any(is_ours(frame) for frame in chain):
            continue
        files = [frame.f_code.co_filename.replace("\\", "/") for frame in chain]
        if any(aside in file for file in files for aside in _ASIDE):
            continue
        is_pool = any(file.endswith(_POOLS) for file in files)
        if is_pool or any(names.is_own(frame.f_code) for frame in chain):
            found.append(thread)
    return found
