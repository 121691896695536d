"""Products of a training step that no gradient goes through.

What a model is made of has gradients. Products without any are of something beside it: a constant
that is computed again, a frozen or a second model, a metric, an update.
"""

from __future__ import annotations

from collections.abc import Iterable

from stepscope.tables.account.owners import Owner, time_by_family
from stepscope.tables.core.profile import Host
from stepscope.tables.traits.gradient_names import apart_from_gradients
from stepscope.tables.traits.gradients import APART
from stepscope.tables.traits.op_families import PRODUCTS

# What has less of the steps stays with the others of its family.
_SOME_FRAC = 0.15
# With more of a pass a family says more than the pass.
_FAMILY_FRAC = 2 / 3
# What a pass is made of: its ops, and what the framework does to call them.
_OF_PASS = ("op", "framework", "annotated", "runtime")


def without_gradients(host: Host, listed: Iterable[Owner]) -> frozenset[int]:
    """Ids of the owners of such products; none where they are little, or nothing is trained."""
    owners = list(listed)
    ops = [one for one in owners if one.kind == "op"]
    apart = apart_from_gradients(host, (one.name for one in ops))
    found = [
        one
        for one in ops
        if one.family in PRODUCTS and (one.name in apart or one.between.endswith(APART))
    ]
    enough = _SOME_FRAC * sum(one.total_ps for one in owners)
    families = time_by_family(found)
    return frozenset(id(one) for one in found if families[one.family] >= enough)


# Transforms say more than the pass that they are in: how long they are decides what they take.
_TELLING = ("fft",)


def passes_apart(listed: Iterable[Owner]) -> dict[int, tuple[str, ...]]:
    """Keys of what lies in passes without gradients, by the owners' ids.

    A pass stands for its ops as a layer does: where no family of them has most of it. A function
    that was called is one thing with what hands it over, whatever its ops are.
    """
    owners = list(listed)
    found = [
        one
        for one in owners
        if one.kind in _OF_PASS and one.between.endswith(APART) and one.family not in _TELLING
    ]
    whole = sum(one.total_ps for one in found)
    if whole < max(_SOME_FRAC * sum(one.total_ps for one in owners), 1):
        return {}
    families = time_by_family(one for one in found if one.kind == "op")
    is_function = any(one.kind != "op" for one in found)
    if not is_function and max(families.values()) > _FAMILY_FRAC * whole:
        return {}
    return {id(one): ("layer", APART) for one in found}
