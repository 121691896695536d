"""Hooks that run right after the program has imported a module."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Final

from stepscope.capture.launch.keras_steps import mark_steps
from stepscope.capture.launch.yielding import (
    yield_to_jax,
    yield_to_tensorflow,
    yield_to_torch,
)

#: What is done to which module.
AFTER: Final[dict[str, Callable[[ModuleType], None]]] = {
    "keras": mark_steps,
    "tensorflow.python.profiler.profiler_v2": yield_to_tensorflow,
    "jax._src.profiler": yield_to_jax,
    "torch.profiler.profiler": yield_to_torch,
}


class _Loader(importlib.abc.Loader):
    """The module's own loader, and then the hook."""

    def __init__(self, own: importlib.abc.Loader, hook: Callable[[ModuleType], None]) -> None:
        self._own = own
        self._hook = hook

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # From here on it is as if we had not been here.
        module.__loader__ = self._own
        if module.__spec__ is not None:
            module.__spec__.loader = self._own
        self._own.exec_module(module)
        try:
            self._hook(module)
        except Exception as error:
            print(
                f"stepscope: {module.__name__} could not be prepared for recording: {error}",
                file=sys.stderr,
            )


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what others find, and has the hook run after it; once a module."""

    def __init__(self) -> None:
        self._left = dict(AFTER)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        hook = self._left.pop(fullname, None)
        if hook is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        spec.loader = _Loader(spec.loader, hook)
        return spec


def install() -> None:
    """Watch imports from now on; modules that are there already are seen to at once."""
    for name, hook in AFTER.items():
        if name in sys.modules:
            hook(sys.modules[name])
    sys.meta_path.insert(0, _Finder())
