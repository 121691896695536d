"""What is special about parts of a step."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.account.account import account
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import parts
from stepscope.tables.parts.part_traits import (
    CHANGES_LAYOUTS,
    CHANGES_LAYOUTS_OF_IMAGES,
    CHANGES_TYPES,
    IN_FIRST_RUN,
    IN_ONE_RUN,
    NOT_ONEDNN,
    copies_for,
    traits_of,
)
from stepscope.tables.torch.copy_purposes import LAYOUT, TYPES
from tests.profiles import space
from tests.profiles.model import Event, line
from tests.profiles.model import host as model_host


@pytest.mark.parametrize(
    ("lengths", "told"),
    [
        # The first run chose a kernel; 900 of 940 µs.
        ((900, 10, 10, 10, 10), [(IN_FIRST_RUN, 96)]),
        # A later one shared its core.
        ((10, 10, 900, 10, 10), [(IN_ONE_RUN, 96)]),
        ((200, 200, 180, 220, 190), []),
        # Of two runs one is always the longer.
        ((900, 10), []),
    ],
)
def test_one_run_of_several_with_most_of_it_is_a_trait(
    lengths: tuple[int, ...], told: list[tuple[str, int]]
) -> None:
    runs = [Event("conv:_MklConv2D", 10 + 1000.0 * at, us) for at, us in enumerate(lengths)]
    step = Event("train", 0, 1000.0 * len(lengths), {"step_num": 0, "_r": 1})
    pool = line("tf_pool", *runs)
    one = Host("h", decode(space(model_host(line("python", step), pool))))
    found = account(one)
    assert found is not None
    (part,) = (part for part in parts(found) if part.kind == "op")
    traits = [(trait.role, round(100 * trait.frac)) for trait in traits_of(part, one)]
    assert traits == told


@pytest.mark.parametrize(
    ("kinds", "is_said"),
    [
        (("MatMul", "_FusedMatMul"), True),
        (("MatMul", "_MklMatMul"), False),
        (("mm",), False),
    ],
)
def test_products_that_no_kernel_of_onednn_runs_are_said_to_be(
    kinds: tuple[str, ...], is_said: bool
) -> None:
    runs = [Event(f"net/{at}:{kind}", 10 + 300.0 * at, 250) for at, kind in enumerate(kinds)]
    step = Event("train", 0, 1000.0, {"step_num": 0, "_r": 1})
    one = Host("h", decode(space(model_host(line("python", step), line("tf_pool", *runs)))))
    found = account(one)
    assert found is not None
    (part,) = (part for part in parts(found) if part.kind == "op")
    assert (NOT_ONEDNN in {trait.role for trait in traits_of(part, one)}) is is_said


@pytest.mark.parametrize(
    ("what", "ops", "trait"),
    [
        (TYPES, "aten/nll_loss 35%, ToCopyBackward0 34%", CHANGES_TYPES),
        (LAYOUT, "aten/group_norm 16%", CHANGES_LAYOUTS_OF_IMAGES),
        (LAYOUT, "aten/reshape 98%", CHANGES_LAYOUTS),
        ("copied for", "aten/add_ 20%", ""),
    ],
)
def test_copies_have_the_trait_of_what_they_are_for(what: str, ops: str, trait: str) -> None:
    assert copies_for(what, ops) == trait
