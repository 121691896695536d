"""A PyTorch of which nothing is there but where it lies and what its ranges are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from stepscope.capture.torch import open_ranges

TORCH = "/some/where/torch/"


class RecordFunction:
    """A range as the program opens it."""


def loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """It is loaded; at the end no annotation is open."""
    module: Any = ModuleType("torch")
    module.__file__ = TORCH + "__init__.py"
    module.autograd = SimpleNamespace(profiler=SimpleNamespace(record_function=RecordFunction))
    monkeypatch.setitem(sys.modules, "torch", module)
    assert not open_ranges.open_annotations
    yield
    open_ranges.open_annotations.clear()
