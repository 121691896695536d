"""Stepscope: where every training or inference step goes, why, and what to change.

>>> import stepscope
>>> session = stepscope.open("logdir")  # doctest: +SKIP
>>> session.overview_page().headline  # doctest: +SKIP

>>> with stepscope.Profile("logdir"):  # doctest: +SKIP
...     train()
"""

from __future__ import annotations

import sys
import time
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from stepscope.errors import (
    CaptureError,
    DecodeError,
    NothingToShow,
    StepscopeError,
    StoreError,
    UsageError,
)

if TYPE_CHECKING:
    from stepscope.capture.control import Profile, start, stop
    from stepscope.capture.hooks.steps import steps
    from stepscope.capture.launch.import_hook import init
    from stepscope.capture.options import ProfilerOptions
    from stepscope.capture.result import Capture
    from stepscope.capture.rpc.client import api as client
    from stepscope.capture.rpc.server import api as server
    from stepscope.capture.step_log import note
    from stepscope.capture.tracing import Trace, annotate, step
    from stepscope.comparison import Comparison
    from stepscope.result import Diagnostic, Finding, Result, Table
    from stepscope.session import FileReport, Session, open
    from stepscope.session.compare import compare
    from stepscope.surfaces.notebook import show

__version__ = "0.1.0"
# Where the account of a start that the program asks for (``init``) has the begin of our own work.
_imported_ns = time.time_ns()

__all__ = [
    "Capture",
    "CaptureError",
    "Comparison",
    "DecodeError",
    "Diagnostic",
    "FileReport",
    "Finding",
    "NothingToShow",
    "Profile",
    "ProfilerOptions",
    "Result",
    "Session",
    "StepscopeError",
    "StoreError",
    "Table",
    "Trace",
    "UsageError",
    "__version__",
    "annotate",
    "client",
    "compare",
    "init",
    "note",
    "open",
    "server",
    "show",
    "start",
    "step",
    "steps",
    "stop",
]

_HOMES = {
    "open": "stepscope.session",
    "Session": "stepscope.session",
    "FileReport": "stepscope.session",
    "Result": "stepscope.result",
    "Table": "stepscope.result",
    "Finding": "stepscope.result",
    "Diagnostic": "stepscope.result",
    "Comparison": "stepscope.comparison",
    "compare": "stepscope.session.compare",
    "Capture": "stepscope.capture.result",
    "Profile": "stepscope.capture.control",
    "ProfilerOptions": "stepscope.capture.options",
    "show": "stepscope.surfaces.notebook",
    "Trace": "stepscope.capture.tracing",
    "annotate": "stepscope.capture.tracing",
    "init": "stepscope.capture.launch.import_hook",
    "note": "stepscope.capture.step_log",
    "load_ipython_extension": "stepscope.surfaces.notebook.cells",
    "start": "stepscope.capture.control",
    "step": "stepscope.capture.tracing",
    "steps": "stepscope.capture.hooks.steps",
    "stop": "stepscope.capture.control",
}
# Public modules that live deeper than their name.
_MODULES = {
    "client": "stepscope.capture.rpc.client.api",
    "keras": "stepscope.capture.hooks.keras",
    "lightning": "stepscope.capture.hooks.lightning",
    "server": "stepscope.capture.rpc.server.api",
    "torch": "stepscope.capture.hooks.torch",
    "transformers": "stepscope.capture.hooks.transformers",
}


def __getattr__(name: str) -> Any:
    """Import public names when first used, so that ``import stepscope`` costs nothing."""
    from importlib import import_module

    home = _HOMES.get(name)
    if home is None and name not in _MODULES:
        raise AttributeError(f"module 'stepscope' has no attribute {name!r}")
    value = getattr(import_module(home), name) if home else import_module(_MODULES[name])
    if "IPython" in sys.modules:
        import_module("stepscope.surfaces.notebook").register()
    globals()[name] = value
    return value


class _Deeper:
    """Finds these modules for ``from stepscope.keras import Callback``, and loads them."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        """Of such a module."""
        package, _, module = name.rpartition(".")
        if package != __name__ or module not in _MODULES:
            return None
        # A loader by its methods: importlib.abc, which has the class, loads tempfile and shutil.
        return ModuleSpec(name, cast("Any", self))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module where it lives, under a second name."""
        from importlib import import_module

        found = import_module(_MODULES[spec.name.rpartition(".")[2]])
        spec.loader_state = found.__spec__
        return found

    def exec_module(self, module: ModuleType) -> None:
        """It ran when it was imported; it keeps the spec of where it lives."""
        if module.__spec__ is not None and module.__spec__.loader_state is not None:
            module.__spec__ = module.__spec__.loader_state


sys.meta_path.append(_Deeper())


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
