"""Ops that keep the host much longer than handing them to a device takes.

A library plans what is new to it: cuDNN's attention took 3 ms on the host of an H200 for each
length that it had not seen, and microseconds for the others. Hand-over is spread over all ops of a
step; one that has it nearly alone, in long stretches, is planned.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stepscope.analysis.step_account import PartRow, StepAccount

_OPS: Final = re.compile(r"aten(?:/|::)\w")
_ATTENTION: Final = re.compile(r"attention")
# It has this share of the hand-over, and its stretches are so long.
_ALONE_FRAC: Final = 0.8
_LEAST_US: Final = 100.0
_ACTIONS: Final = (
    "Keep the shapes of its inputs the same from call to call (pad lengths to a few sizes): what a "
    "library has planned for one shape it uses again.",
    "Run the loop for longer: if each shape is met again, this ends by itself.",
)
_OTHER: Final = (
    "Try another implementation, which need not plan: torch.backends.cuda.enable_cudnn_sdp(False) "
    "where cuDNN's attention is the slow one."
)


def is_planned(part: PartRow, account: StepAccount) -> bool:
    """Whether the host's time of handing over is that of one op, in stretches too long for it."""
    if part.kind != "framework" or not account.has_device or not _OPS.match(part.first):
        return False
    is_alone = part.first_frac >= _ALONE_FRAC and part.stretches > 0
    return is_alone and 1000 * part.time_ms >= _LEAST_US * part.stretches


def why(part: PartRow) -> str:
    """A sentence about it."""
    return (
        f" Handing an op over takes microseconds: within {part.first} a library plans or compiles "
        "on the host, as for each new shape."
    )


def actions_for(part: PartRow) -> tuple[str, ...]:
    """What to try."""
    return (*_ACTIONS, _OTHER) if _ATTENTION.search(part.first) else _ACTIONS
