"""A function of the program that made ops of several families of a TensorFlow graph.

"Pack takes 34 %, Sum 13 % and StridedSlice 9 %" are the three lines of one function: where no line
of it says more than the families do, the function does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stepscope.tables.account.owners import Owner, time_by_family
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.compiled_lines import calls_layers
from stepscope.tables.traits.graph_lines import graph_lines
from stepscope.tables.traits.instructions import compiled_from
from stepscope.tables.traits.op_families import COSTLY, PRODUCTS
from stepscope.tables.traits.updates import is_update

# A function stands for its ops where they have this share of the steps, no family has more than
# that of the function, and products less than that: these are a layer of the model.
_WHOLE_FRAC, _FAMILY_FRAC, _PRODUCT_FRAC = 0.3, 2 / 3, 0.5
# Ops with less of the steps are not looked up.
_SOME_FRAC = 0.002

Key = tuple[str, ...]


def graph_functions(
    host: Host, listed: Iterable[Owner], lines: Mapping[int, Key]
) -> dict[int, Key]:
    """The function that stands for ops of a graph, by the owners' ids; {} for none.

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
    for (file, function), group in groups.items():
        if _stands(group, whole):
            return {id(one): ("function", file, function, "0") for one in group}
    return {}


def _stands(group: list[Owner], whole: int) -> bool:
    families = time_by_family(group)
    time = sum(families.values())
    most = max(families, key=lambda family: families[family])
    products = sum(spent for family, spent in families.items() if family in PRODUCTS)
    return (
        time >= _WHOLE_FRAC * whole
        and families[most] <= _FAMILY_FRAC * time
        and products < _PRODUCT_FRAC * time
        and most not in COSTLY
        and not calls_layers(group)
    )
