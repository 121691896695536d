"""Stepscope: where every training or inference step goes, why, and what to change.

>>> import stepscope
>>> session = stepscope.open("logdir")  # doctest: +SKIP
>>> session.overview_page().headline  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepscope.errors import (
    CaptureError,
    DecodeError,
    NothingToShow,
    StepscopeError,
    StoreError,
    UsageError,
)

if TYPE_CHECKING:
    from stepscope.result import Diagnostic, Finding, Result, Table
    from stepscope.session import FileReport, Session, open

__version__ = "0.1.0"

__all__ = [
    "CaptureError",
    "DecodeError",
    "Diagnostic",
    "FileReport",
    "Finding",
    "NothingToShow",
    "Result",
    "Session",
    "StepscopeError",
    "StoreError",
    "Table",
    "UsageError",
    "__version__",
    "open",
]

_HOMES = {
    "open": "stepscope.session",
    "Session": "stepscope.session",
    "FileReport": "stepscope.session",
    "Result": "stepscope.result",
    "Table": "stepscope.result",
    "Finding": "stepscope.result",
    "Diagnostic": "stepscope.result",
}


def __getattr__(name: str) -> Any:
    """Import public names when first used, so that ``import stepscope`` costs nothing."""
    from importlib import import_module

    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'stepscope' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
