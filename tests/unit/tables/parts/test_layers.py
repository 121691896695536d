"""Layers of the model stand for their ops; parts are placed at a line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.account.owners import Owner, owners
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import Key, Part, named_layers, parts, scope_with_most
from stepscope.tables.parts.sites import located
from tests.profiles import Event, line, plane, space
from tests.unit.tables.account.drawn import Letters, accounted, host

NET = "StatefulPartitionedCall/net"
BACK = "StatefulPartitionedCall/gradient_tape/net"


def made(pool: str, names: Letters) -> list[Part]:
    """Parts of two steps of ten moments each, in which a pool runs the named ops."""
    rows = ("W--------.W--------.", f"tf_pool  {pool * 2}")
    found = accounted(host(*rows, **names, W="BlockHostUntilReady"))
    return [part for part in parts(found, owners(found)) if part.kind in ("op", "layer")]


MIXED: Letters = {
    "A": f"{NET}/mixer/fold/MatMul:MatMul",
    "B": f"{BACK}/mixer/gather/Sum:Sum",
    "C": f"{BACK}/mixer/einsum/Einsum_1:Einsum",
    "D": f"{NET}/head/MatMul:MatMul",
    "E": f"{NET}/norm/Rsqrt:Rsqrt",
}
SPREAD = MIXED | {"D": f"{NET}/head/Softmax:Softmax", "E": f"{NET}/norm/Cumsum:Cumsum"}
BLOCKS = {letter: f"{NET}/block_{letter}/Conv2D:Conv2D" for letter in "FGHI"} | {
    "A": f"{NET}/attend/MatMul:MatMul",
    "B": f"{NET}/attend/Softmax:Softmax",
}


@pytest.mark.parametrize(
    ("pool", "names", "layer"),
    [
        ("AABBCCD...", MIXED, "net/mixer"),
        ("ABCDDEE...", SPREAD, "net/mixer"),  # no family has as much
        ("ACCCCBDDEE", MIXED, "net/mixer"),  # any contraction is an einsum: the layer says more
        # Four blocks share the largest family; none of them has half of what the layer has.
        ("AABBFGHI..", BLOCKS, "net/attend"),
    ],
)
def test_a_layer_of_several_families_is_one_part_with_its_gradients(
    pool: str, names: Letters, layer: str
) -> None:
    first = made(pool, names)[0]
    assert (first.kind, first.name) == ("layer", layer)
    ops = [letter for letter in pool if layer in names.get(letter, "")]
    assert first.total_ps == pytest.approx(2 * 1e8 * len(ops))


@pytest.mark.parametrize(
    ("pool", "around", "name"),
    [("MMMM.LL...", "..........", "MatMul"), ("M....LM...", "XXXXXXXX..", "while")],
    ids=["its work", "beside the runtime"],
)
def test_a_loop_is_one_part_unless_products_are_its_work(pool: str, around: str, name: str) -> None:
    letters: dict[str, Any] = {
        "W": "BlockHostUntilReady",
        "M": "while/body/_1/while/MatMul:MatMul",
        "L": "while/cond/_0/while/Less:Less",
        "X": "ThunkExecutor::Execute",
    }
    rows = ("W--------.W--------.", f"tf_pool  {around * 2}", pool * 2)
    found = accounted(host(*rows, **letters))
    assert next(part for part in parts(found, owners(found)) if part.kind == "op").name == name


def test_the_model_itself_is_no_layer() -> None:
    names = {letter: name.replace("/mixer", "") for letter, name in MIXED.items()}
    assert all(part.kind == "op" for part in made("AABBCC....", names))


def test_a_loss_of_one_formula_is_no_other_model() -> None:
    encoder = {
        "A": "query/MatMul:MatMul",
        "B": "attend/Softmax:Softmax",
        "C": "mix/BiasAdd:BiasAdd",
    }
    loss = {"D": "look/Gather:Gather", "E": "cell/Tanh:Tanh", "F": "head/Sum:Sum"}
    names = {letter: f"encoder/{name}" for letter, name in encoder.items()}
    names |= {letter: f"loss/mean/{name}" for letter, name in loss.items()}
    assert all(part.name != "encoder" for part in made("AABBCCDEF.", names))


def owner(name: str, line: int, time_ps: int) -> Owner:
    """An op that ran while the loop's thread was at a line of its file."""
    known: dict[str, Any] = dict.fromkeys(("function", "caller"), "") | {"around": None}
    where: dict[str, Any] = {"file": "train.py", "line": line, "begins": 0, "under": None}
    ran: dict[str, Any] = {"event": -1, "on_device": False, "is_inline": False, "stretches": 1}
    time = np.asarray([time_ps])
    return Owner("op", name, name[-6:], **known, **where, **ran, time_ps=time, rows=())


def test_two_calls_of_a_compiled_function_do_not_tell_its_ops_apart() -> None:
    ops = [f"{NET}/mixer/fold/MatMul", f"{BACK}/mixer/sum/Summed", f"{NET}/head/Einsum"]
    twice = [owner(name, line, 100 // line) for name in ops for line in (1, 2)]
    assert set(named_layers(twice).values()) == {Key("layer", "net/mixer")}
    apart = [owner(name, line, 100) for line, name in enumerate(ops)]
    assert named_layers(apart) == {}


def test_ops_that_are_told_as_one_lie_in_the_models_layers() -> None:
    """All that several of them have in common is the model: it is not made of them by itself."""
    merged = replace(owner(f"{NET}/hop_0/MatMul", 1, 600), others=3, common=("net",))
    names = ("hop_0/Einsum", "hop_1/MatMul", "out/AddRow")
    single = [owner(f"{NET}/{name}", 1, 200) for name in names]
    loss = owner("StatefulPartitionedCall/loss/Square", 1, 50)
    assert Key("layer", "net") not in named_layers([merged, *single, loss]).values()


def test_ops_that_share_a_label_keep_their_layer() -> None:
    """More ops than can be distinguished: those of one family are one, within each layer."""
    many = [f"{NET}/attend/t{at}/{op}_{at}:{op}" for op in ("Mul", "Add") for at in range(40)]
    many += [f"{NET}/block_{at % 8}/Mul_{at}:Mul" for at in range(40)]
    begins = (0, 2000)
    ops = [Event(name, at + 10 * nth, 10) for at in begins for nth, name in enumerate(many)]
    waits = [Event("BlockHostUntilReady", at, 1300) for at in begins]
    marks = [Event("train", at, 2000, {"step_num": at, "_r": 1}) for at in begins]
    threads = [line("python", *marks), line("python", *waits), line("tf_pool", *ops)]
    found = accounted(Host("h", decode(space(plane("/host:CPU", *threads)))))
    listed = owners(found)
    assert any(owner.others for owner in listed)
    (first,) = [part for part in parts(found, listed) if part.kind == "layer"]
    assert first.name == "net/attend"
    assert first.total_ps == pytest.approx(2 * 80 * 1e7, rel=0.05)


def test_the_scope_of_a_family_is_the_innermost_with_nearly_all_of_it() -> None:
    (product,) = [part for part in made("AAAAABC...", MIXED) if part.name == "MatMul"]
    assert scope_with_most(product.owners) == ("net/mixer/fold", 1.0)


def test_a_loop_is_at_the_line_with_most_of_its_time_and_not_of_its_largest_op() -> None:
    """``split`` hands over many small ops at line 33, and ``stack`` one at line 35."""
    ops = [owner("stack", 35, 3), owner("split", 33, 2), owner("unstack", 33, 2)]
    loop = Part("eager", "fresh_keys", tuple(ops), np.asarray([7]))
    assert located(loop, is_launched=False).line == 33
    assert located(replace(loop, kind="python"), is_launched=False).line == 35
