"""Tracing and compilation in JAX, as its monitoring events report them.

A program that compiles executes nothing whose executions could be counted, and its start consists
mostly of compilations.
"""

from __future__ import annotations

import math
import time
from types import ModuleType
from typing import Any, Final

from stepscope.capture.runtime import start_spans

_DURATIONS: Final = {
    "/jax/core/compile/jaxpr_trace_duration": "tracing",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "tracing",
    "/jax/core/compile/backend_compile_duration": "compilation",
}
# Reported before the backend compiles; a function that is only lowered gets no further. Not
# reported without a cache: then a compilation seems to end where it begins.
_REQUESTED: Final = "/jax/compilation_cache/compile_requests_use_cache"
_LOOKUPS: Final = {
    "/jax/compilation_cache/cache_hits": "hit",
    "/jax/compilation_cache/cache_misses": "miss",
}

_compiled_at = 0.0
# The module whose events are heard already.
_heard: ModuleType | None = None


def compiled_at() -> float:
    """When the last compilation ended, by ``time.monotonic``; infinite during one, 0 if none."""
    return _compiled_at


def hear(monitoring: ModuleType) -> None:
    """Have JAX report its compilations, once; raises ``AttributeError`` if it reports none."""
    global _heard
    if monitoring is _heard:
        return
    monitoring.register_event_duration_secs_listener(_timed)
    monitoring.register_event_listener(_noted)
    _heard = monitoring


def _timed(event: str, seconds: float, **values: Any) -> None:
    global _compiled_at
    kind = _DURATIONS.get(event)
    if kind is None:
        return
    _compiled_at = time.monotonic()
    spans = start_spans.active()
    if spans is None or not spans.is_main():
        return
    end_ns, cache = time.time_ns(), ""
    if kind == "compilation":
        cache, spans.cache = spans.cache, ""
    name = str(values.get("fun_name") or "a computation")
    begin_ns = end_ns - int(seconds * 1e9)
    spans.add(start_spans.StartSpan(kind, name, "", begin_ns, end_ns, 0, cache))


def _noted(event: str, **_: Any) -> None:
    global _compiled_at
    if event == _REQUESTED:
        _compiled_at = math.inf
    spans = start_spans.active()
    if spans is not None and event in _LOOKUPS:
        spans.cache = _LOOKUPS[event]
