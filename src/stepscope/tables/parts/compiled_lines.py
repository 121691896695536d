"""Lines of the program that compiled programs have ops of several families from.

"sum over one-hot rows" is a comparison, a change of type, a transposition and a product: each is a
part by its family, none of them says what a person would change, and all go with the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from stepscope.tables.account.owners import Owner
from stepscope.tables.core.op_scopes import routine_of
from stepscope.tables.core.profile import Host
from stepscope.tables.traits.gradient_names import is_eager_in_jax
from stepscope.tables.traits.instructions import compiled_from
from stepscope.tables.traits.op_families import COSTLY, PRODUCTS
from stepscope.tables.traits.updates import is_update

# A line stands for its ops where they have this share of the steps, and no family of them has more
# than that of the line: else the family says more.
_WHOLE_FRAC, _FAMILY_FRAC = 0.25, 2 / 3
# A line with this share in products is a layer of the model; those that a function of a matrix is
# made of are that function.
_PRODUCT_FRAC = 0.5
# It calls a model, whose layers say more, where so many of these have this share of its time.
_LAYERS, _LAYER_FRAC = 3, 0.05
# Ops with less of the steps are not looked up.
_SOME_FRAC = 0.005

Key = tuple[str, ...]


def compiled_lines(
    host: Host, listed: Iterable[Owner], families: Mapping[int, str] = MappingProxyType({})
) -> dict[int, Key]:
    """Function, file and line that stand for ops of compiled programs, by the owners' ids.

    An owner is all runs of one op; the line is that of its longest run.

    Args:
        host: Whose.
        listed: The owners.
        families: Of those that have another than their name says, by their ids.
    """
    owners = list(listed)
    whole = sum(one.total_ps for one in owners)
    lines: dict[Key, list[Owner]] = {}
    for one in owners:
        if one.kind != "op" or one.event < 0 or one.total_ps < _SOME_FRAC * whole:
            continue
        if is_update(one.family) or is_eager_in_jax(one.name):
            continue
        made = compiled_from(host, one.event)
        if made.line and made.function:
            lines.setdefault((made.function, made.file, str(made.line)), []).append(one)
    found: dict[int, Key] = {}
    for key, group in lines.items():
        if says_more([(families.get(id(one), one.family), one) for one in group], whole):
            found |= dict.fromkeys(map(id, group), key)
    return found


def says_more(group: list[tuple[str, Owner]], whole: int) -> bool:
    """Whether a line, or a function, says more of its ops than their families and layers do.

    Args:
        group: Each op that it made, with the op's family.
        whole: The time of all owners.
    """
    families: dict[str, int] = {}
    layers: dict[Key, int] = {}
    for family, one in group:
        families[family] = families.get(family, 0) + one.total_ps
        layers[one.layer] = layers.get(one.layer, 0) + one.total_ps
    time = sum(families.values())
    if max(families, key=lambda family: families[family]) in COSTLY:
        return False
    products = sum(
        one.total_ps for family, one in group if family in PRODUCTS and not routine_of(one.name)
    )
    return (
        time >= _WHOLE_FRAC * whole
        and max(families.values()) <= _FAMILY_FRAC * time
        and products < _PRODUCT_FRAC * time
        and sum(spent >= _LAYER_FRAC * time for spent in layers.values()) < _LAYERS
    )
