"""Whether jax.profiler records already, by what each version of JAX calls its session."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from stepscope.capture.recorders.jax import _is_tracing


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
