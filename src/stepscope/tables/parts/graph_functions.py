"""A function of the program that made ops of several families of a TensorFlow graph.

"Pack takes 34 %, Sum 13 % and StridedSlice 9 %" are the three lines of one function: where no line
of it says more than the families do, the function does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stepscope.tables.account.owners import Owner
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.compiled_lines import says_more
from stepscope.tables.traits.graph_lines import graph_lines
from stepscope.tables.traits.instructions import compiled_from
from stepscope.tables.traits.updates import is_update

# Ops with less of the steps are not looked up.
_SOME_FRAC = 0.002

Key = tuple[str, ...]


def graph_functions(
    host: Host, listed: Iterable[Owner], lines: Mapping[int, Key]
) -> dict[int, Key]:
    """Functions that stand for ops of a graph, by the owners' ids; {} for none.

    Args:
        host: Whose.
        listed: The owners.
        lines: Those that a line stands for: then no function does.
    """
    known = graph_lines(host)
    if known is None or lines:
        return {}
    owners = list(listed)
    whole = sum(one.total_ps for one in owners)
    groups: dict[tuple[str, str], list[Owner]] = {}
    for one in owners:
        if one.kind != "op" or one.total_ps < _SOME_FRAC * whole or is_update(one.family):
            continue
        made = compiled_from(host, one.event)
        # What asks for gradients calls all of the model, whatever it computes besides.
        if made.line and (made.file, made.function) not in known.asking:
            groups.setdefault((made.file, made.function), []).append(one)
    found: dict[int, Key] = {}
    for (file, function), group in groups.items():
        if says_more([(one.family, one) for one in group], whole):
            found |= dict.fromkeys(map(id, group), ("function", file, function, "0"))
    return found
