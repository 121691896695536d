"""Ops that compute on the host while devices have nothing to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stepscope.advice.catalogue import thresholds
from stepscope.result import Place

if TYPE_CHECKING:
    from stepscope.analysis.step_account import OwnerRow, StepAccount

# So many are named, each with this share of the step.
_MOST: Final = 4
_NAMED_FRAC: Final = 0.005
# Ops that make room, or look at a tensor otherwise, compute nothing.
_NO_COMPUTE: Final = ("empty", "detach", "view", "select", "slice", "resize", "set_", "as_strided")
# Handing an op over takes no longer, a recorder's part of it included.
_LAUNCH_MS: Final = 0.06


@dataclass(frozen=True, slots=True)
class ComputedOnHost:
    """Ops that the host computes itself.

    Attributes:
        names: The longest first.
        time_ms: Of a step.
        place: Where most of them are called from; None unknown.
    """

    names: tuple[str, ...]
    time_ms: float
    place: Place | None


def host_ops(account: StepAccount | None) -> ComputedOnHost | None:
    """Those of a step that is shared with a device; None without.

    An op that takes a device longer than the host was handed over, and not computed there; so was
    one that both run, if the host is done with it as soon as with a launch.
    """
    if account is None or not account.has_device:
        return None
    here: dict[str, list[OwnerRow]] = {}
    there: dict[str, float] = {}
    for one in account.owners.records():
        if one.kind != "op" or one.name.partition("/")[2].startswith(_NO_COMPUTE):
            continue
        name = one.name.partition(" and ")[0]
        if one.on_device:
            there[name] = there.get(name, 0.0) + one.time_ms
        else:
            here.setdefault(name, []).append(one)
    time = {name: sum(one.time_ms for one in own) for name, own in here.items()}
    least = _NAMED_FRAC * account.step_time_ms
    names = [
        name
        for name in time
        if time[name] >= max(least, there.get(name, 0.0))
        and not (name in there and _is_as_short_as_a_launch(here[name]))
    ]
    if not names:
        return None
    names.sort(key=lambda name: -time[name])
    whole = sum(time[name] for name in names)
    largest = max((one for name in names for one in here[name]), key=lambda one: one.time_ms)
    of_function = sum(
        one.time_ms for name in names for one in here[name] if one.function == largest.function
    )
    if not largest.function or of_function < thresholds()["half"] * whole:
        return ComputedOnHost(tuple(names[:_MOST]), whole, None)
    place = Place(largest.function, largest.file, largest.line or 0, largest.caller)
    return ComputedOnHost(tuple(names[:_MOST]), whole, place)


def _is_as_short_as_a_launch(own: list[OwnerRow]) -> bool:
    stretches = sum(one.stretches for one in own)
    return sum(one.time_ms for one in own) <= _LAUNCH_MS * stretches
