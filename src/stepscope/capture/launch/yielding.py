"""A program that profiles itself takes precedence: ``stepscope record`` pauses meanwhile.

A process has one profiler of each framework. Were ours to hold it, a program's own
``tf.profiler.experimental.start`` would raise, in a program that runs well without us.
"""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any

from stepscope.capture import control


def yield_to_tensorflow(module: ModuleType) -> None:
    """Around ``tf.profiler.experimental``; raises ``AttributeError`` where it is another one."""
    _around(module, "start", "stop")


def yield_to_jax(module: ModuleType) -> None:
    """Around ``jax.profiler.start_trace``; raises ``AttributeError`` where it is another one."""
    _around(module, "start_trace", "stop_trace")


def yield_to_torch(module: ModuleType) -> None:
    """Around ``torch.profiler.profile``; raises ``AttributeError`` where it is another one."""
    _around(module.profile, "start", "stop")


def _is_ours(depth: int = 2) -> bool:
    """Whether the caller of the function that asks is one of our recorders."""
    caller = sys._getframe(depth).f_globals.get("__name__", "")
    return str(caller).startswith("stepscope.")


def _around(owner: Any, begin: str, end: str) -> None:
    begins, ends = getattr(owner, begin), getattr(owner, end)

    @functools.wraps(begins)
    def begun(*args: Any, **kwargs: Any) -> Any:
        if _is_ours():
            return begins(*args, **kwargs)
        control.give_way()
        try:
            return begins(*args, **kwargs)
        except BaseException:
            control.take_up()
            raise

    @functools.wraps(ends)
    def ended(*args: Any, **kwargs: Any) -> Any:
        if _is_ours():
            return ends(*args, **kwargs)
        try:
            return ends(*args, **kwargs)
        finally:
            control.take_up()

    setattr(owner, begin, begun)
    setattr(owner, end, ended)
