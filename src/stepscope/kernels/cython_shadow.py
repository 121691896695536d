"""What the kernels need of the ``cython`` module when Cython is not installed.

A kernel that was not compiled is plain Python: its decorators and declarations do nothing.
Cython's own module plays this part where it is installed; it is not a runtime dependency.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)
T = TypeVar("T")

compiled = False
bint = bool
uchar = int
longlong = int
ulonglong = int
Py_ssize_t = int


def __getattr__(name: str) -> Any:
    """``cython.int``, which as a name of this file would hide Python's own."""
    if name == "int":
        return int
    raise AttributeError(name)


class _Nogil:
    """Both ``@nogil`` and ``with nogil:``."""

    def __call__(self, function: F) -> F:
        return function

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


nogil = _Nogil()


def cfunc(function: F) -> F:
    """Mark a function that only this module calls."""
    return function


def inline(function: F) -> F:
    """Ask for a function to be compiled into its callers."""
    return function


def returns(_type: object) -> Callable[[F], F]:
    """Declare a C return type."""
    return lambda function: function


def cclass(kind: Class) -> Class:
    """Mark a class whose attributes are C values."""
    return kind


def cast(_type: object, value: T) -> T:
    """Reinterpret a value."""
    return value


def declare(_type: object, *, visibility: str) -> Any:
    """Declare an attribute of a class; it starts as 0."""
    return 0


def exceptval(*, check: bool) -> Callable[[F], F]:
    """Declare that a function raises nothing."""
    return lambda function: function
