"""How much data a stage of tf.data makes, of how much, and what the rest leaves of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

from stepscope.columns import event_stats
from stepscope.schema import names
from stepscope.tables.core.profile import Host
from stepscope.tables.tf_data.elements import Element, element
from stepscope.tables.tf_data.events import leaf

if TYPE_CHECKING:
    from stepscope.verdicts.tf_data import NodeFacts

# Stages that hand on all that they ask for: a smaller result is made of all of it.
_HANDS_ON = re.compile(r"(Parallel)?(Map|Batch|PaddedBatch|MapAndBatch|Prefetch|Shuffle|.*Repeat)")
_VERSION = re.compile(r"V\d+$")


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of one element of a stage; NaN where it was not recorded.

    Attributes:
        shape: Shape and type of what it mostly is.
        size_bytes: Its size.
        from_bytes: Of those that it is made of.
        into_bytes: The least that later stages make of it.
    """

    shape: str = ""
    size_bytes: float = nan
    from_bytes: float = nan
    into_bytes: float = nan


def sizes(host: Host, facts: NodeFacts, long_names: list[str], at: int) -> Sizes:
    """Of the stage at a position of the pipeline's nodes, by the calls of each.

    Args:
        host: The pipeline's.
        facts: Of its nodes.
        long_names: Of its nodes.
        at: The stage's position.
    """
    listed = [_element(host, row) for row in facts.sample.tolist()]
    calls, parents = facts.calls.tolist(), facts.parent.tolist()
    own = listed[at]
    if own is None or not calls[at]:
        return Sizes()
    asked = [place for place, parent in enumerate(parents) if parent == at]
    made_of = [_all_bytes(listed[place], calls[place]) for place in asked]
    least = float(own.size)
    after, seen = parents[at], {at}
    while after >= 0 and after not in seen:
        seen.add(after)
        if not _HANDS_ON.fullmatch(_VERSION.sub("", leaf(long_names[after]))):
            break
        whole = _all_bytes(listed[after], calls[after])
        least = min(least, whole / calls[at]) if whole == whole else least
        after = parents[after]
    return Sizes(own.largest, own.size, sum(made_of) / calls[at] if asked else nan, least)


def _element(host: Host, row: int) -> Element | None:
    if row < 0:
        return None
    said = dict(event_stats(host.space, row))
    return element(str(said.get(names.ELEMENT_SHAPES, "")), str(said.get(names.ELEMENT_TYPES, "")))


def _all_bytes(one: Element | None, calls: int) -> float:
    return nan if one is None else float(one.size * calls)
