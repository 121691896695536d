"""JAX, through the profiler session of its runtime."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from importlib import import_module
from typing import Any, Final

from stepscope.capture.file.event_count import count_events
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Recorded
from stepscope.capture.runtime import jax_compilation
from stepscope.capture.tracing import Emitter, trace_me

# JAX lets a second session start, which then records nothing; only the first gets events.
_session_lock: Final = threading.Lock()


class JaxRecorder:
    """XLA ops, annotations, compilations and devices of a loaded JAX."""

    name = "jax"

    def __init__(self) -> None:
        self._session: Any = None
        self._began_settled = False
        self._is_used = False

    def unavailable(self) -> str | None:
        """None when JAX is loaded and has the interface."""
        module = sys.modules.get("jax")
        if module is None:
            return "JAX is not loaded."
        if getattr(getattr(module, "__spec__", None), "_initializing", False):
            return "JAX is being imported."
        try:
            _profiler()
        except ImportError as error:
            return f"This JAX has no profiler that can be driven: {error}."
        return None

    def start(self, options: ProfilerOptions) -> None:
        """Begin a session; raises ``RuntimeError`` when ``jax.profiler`` is recording."""
        if _is_tracing():
            raise RuntimeError("jax.profiler is recording in this process; stop it first")
        if not _session_lock.acquire(blocking=False):
            raise RuntimeError("another recording holds JAX's profiler")
        try:
            with contextlib.suppress(ImportError, AttributeError):  # older JAX reports none
                jax_compilation.hear(import_module("jax._src.monitoring"))
            profiler = _profiler()
            chosen = profiler.ProfileOptions()
            chosen.host_tracer_level = options.host_tracer_level
            # A process has one Python tracer: TensorFlow's, where it is loaded, sees JAX's calls.
            is_first = "tensorflow" not in sys.modules
            chosen.python_tracer_level = options.python_tracer_level if is_first else 0
            chosen.enable_hlo_proto = options.include_hlo
            self._began_settled = self.is_settled()
            self._session = profiler.ProfilerSession(chosen)
        except BaseException:
            _session_lock.release()
            raise

    @property
    def compiled_at(self) -> float:
        """When the last compilation ended, by ``time.monotonic``; infinite during one."""
        return jax_compilation.compiled_at()

    def is_settled(self) -> bool:
        """Whether the program has made JAX choose its devices.

        Keras imports JAX without using it; to choose devices for a program that does not would
        take most of a GPU's memory from the one that does.
        """
        # At exit JAX lets its devices go before we are asked.
        self._is_used = self._is_used or bool(_backends())
        return self._is_used

    def is_stale(self) -> bool:
        """Whether devices came after the session began, which has no tracer for them then."""
        late = self._session is not None and not self._began_settled and self.is_settled()
        return late and set(_backends()) != {"cpu"}

    def annotation(self) -> Emitter:
        """Annotations through the runtime's own."""
        return trace_me(_Entered.of(_profiler().TraceMe))

    def collect(self) -> Recorded:
        """The session's XSpace."""
        if not self.is_settled():
            self.drop()  # imported, but not in use
        session, self._session = self._session, None
        if session is None:
            return Recorded()
        try:
            data: bytes = session.stop()
        finally:
            _session_lock.release()
        return Recorded(data, count_events(data))

    def probe(self, options: ProfilerOptions, seconds: float) -> Recorded:
        """A short session, made where the program begins to run undisturbed.

        No hook hears of a call of a compiled function. Each execution has the number after the
        last one's, so those between this session and the next are counted by their numbers.
        """
        self.start(options)
        time.sleep(seconds)
        return self.collect()

    def drop(self) -> None:
        """End the session without collecting."""
        if self._session is not None:
            self._session = None
            _session_lock.release()


class _Entered:
    """JAX's ``TraceMe``, which begins when entered, in the shape of TensorFlow's."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    @staticmethod
    def of(kind: Any) -> Any:
        """The class's maker: begins the annotation it makes."""

        def begin(name: str, **values: Any) -> _Entered:
            inner = kind(name, **values)
            inner.__enter__()
            return _Entered(inner)

        return begin

    def Stop(self) -> None:
        """End it."""
        self._inner.__exit__(None, None, None)


def _profiler() -> Any:
    """The runtime's module; it moved between versions of jaxlib."""
    for name in ("jax._src.lib._profiler", "jaxlib._jax.profiler", "jaxlib.xla_client.profiler"):
        home, _, attribute = name.rpartition(".")
        try:
            found = getattr(import_module(home), attribute, None) or import_module(name)
        except ImportError:
            continue
        if hasattr(found, "ProfilerSession"):
            return found
    raise ImportError("jaxlib has no ProfilerSession")


def _backends() -> dict[str, Any]:
    """Devices by platform that the program has made JAX look for."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    return getattr(bridge, "_backends", None) or {}


def _is_tracing() -> bool:
    """Whether ``jax.profiler.start_trace`` has a session open."""
    state = getattr(sys.modules.get("jax._src.profiler"), "_profile_state", None)
    known = (getattr(state, name, None) for name in ("session", "profile_session"))  # new, old JAX
    return any(session is not None for session in known)
