"""Keeps errors of a hook out of the training."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

_log: Final = logging.getLogger("stepscope")


class Hook(Protocol):
    """Something that ends its work at its first error."""

    is_off: bool


_H = TypeVar("_H", bound=Hook)
_P = ParamSpec("_P")


def harmless(
    method: Callable[Concatenate[_H, _P], None],
) -> Callable[Concatenate[_H, _P], None]:
    """The method; if it raises, the error is logged once and the hook switches itself off."""

    @functools.wraps(method)
    def call(self: _H, /, *args: _P.args, **kwargs: _P.kwargs) -> None:
        if self.is_off:
            return
        try:
            method(self, *args, **kwargs)
        except Exception as error:  # training goes on, whatever a recording does
            self.is_off = True
            _log.warning("stepscope: this training is not recorded: %s", error)

    return call
