"""Whether jax.profiler records already, by what each version of JAX calls its session."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest

from stepscope.capture.launch import import_hook
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorders.jax import JaxRecorder, _is_tracing


@pytest.mark.parametrize("name", ["profile_session", "session"])  # as in 0.10.2, in 0.12.0
def test_a_session_of_the_programs_is_seen(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    module = ModuleType("jax._src.profiler")
    state = SimpleNamespace(**{name: None})
    module._profile_state = state  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jax._src.profiler", module)
    assert not _is_tracing()
    setattr(state, name, object())
    assert _is_tracing()


def test_without_jax_nothing_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "jax._src.profiler", raising=False)
    assert not _is_tracing()


def test_compilations_are_heard_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Executions are counted after seconds without one: a program that compiles runs no step."""
    timed: list[Callable[..., None]] = []
    noted: list[Callable[..., None]] = []
    monitoring = ModuleType("jax._src.monitoring")
    vars(monitoring)["register_event_duration_secs_listener"] = timed.append
    vars(monitoring)["register_event_listener"] = noted.append
    profiler = ModuleType("jax._src.lib._profiler")
    vars(profiler)["ProfileOptions"] = SimpleNamespace
    vars(profiler)["ProfilerSession"] = lambda _options: SimpleNamespace()
    parents = [ModuleType(name) for name in ("jax", "jax._src", "jax._src.lib")]
    for module in (*parents, monitoring, profiler):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    import_hook.AFTER[monitoring.__name__](monitoring)  # as stepscope record does
    recorder = JaxRecorder()
    for _session in range(2):
        recorder.start(ProfilerOptions())
        recorder.drop()
    ((hear,), (note,)) = timed, noted
    before = time.monotonic()
    hear("/jax/core/compile/jaxpr_to_mlir_module_duration", 0.1, fun_name="step")
    assert before <= recorder.compiled_at < math.inf  # .lower() without .compile()
    note("/jax/compilation_cache/compile_requests_use_cache")
    assert recorder.compiled_at == math.inf
    before = time.monotonic()
    hear("/jax/core/compile/backend_compile_duration", 2.0, fun_name="step")
    assert before <= recorder.compiled_at < math.inf
    note("/jax/another/event")
    hear("/jax/another/duration", 0.1)
    assert recorder.compiled_at < math.inf
