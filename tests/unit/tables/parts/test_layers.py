"""Layers that stand for the ops of several families, by the scopes in the ops' names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import Owner, owners
from stepscope.tables.core.op_scopes import layer_of
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import Key, Part, named_layers, parts, scope_with_most
from tests.profiles import Event, event, line, plane, space
from tests.unit.tables.account.test_account import host

NET = "StatefulPartitionedCall/net"
BACK = "StatefulPartitionedCall/gradient_tape/net"


def made(pool: str, **names: str) -> list[Part]:
    """Parts of two steps of ten moments each, in which a pool runs the named ops."""
    one = host(
        f"""
        /host:CPU
          python   S---------S---------
          "        W--------.W--------.
          tf_pool  {pool * 2}
        """,
        W=event("BlockHostUntilReady"),
        **{letter: event(name) for letter, name in names.items()},
    )
    found = account(one)
    assert found is not None
    return [part for part in parts(found, owners(found)) if part.kind in ("op", "layer")]


MIXED = {
    "A": f"{NET}/mixer/fold/MatMul:MatMul",
    "B": f"{BACK}/mixer/gather/Sum:Sum",
    "C": f"{BACK}/mixer/einsum/Einsum_1:Einsum",
    "D": f"{NET}/head/MatMul:MatMul",
    "E": f"{NET}/norm/Rsqrt:Rsqrt",
}


def test_a_layer_of_several_families_is_one_part_with_its_gradients() -> None:
    first = made("AABBCCD...", **MIXED)[0]
    assert (first.kind, first.name) == ("layer", "net/mixer")
    assert first.total_ps == pytest.approx(2 * 6e8)


@pytest.mark.parametrize(
    ("pool", "around", "name"),
    [("MMMM.LL...", "..........", "MatMul"), ("M....LM...", "XXXXXXXX..", "while")],
    ids=["its work", "beside the runtime"],
)
def test_a_loop_is_one_part_unless_products_are_its_work(pool: str, around: str, name: str) -> None:
    one = host(
        f"""
        /host:CPU
          python   S---------S---------
          "        W--------.W--------.
          tf_pool  {around * 2}
          "        {pool * 2}
        """,
        W=event("BlockHostUntilReady"),
        M=event("while/body/_1/while/MatMul:MatMul"),
        L=event("while/cond/_0/while/Less:Less"),
        X=event("ThunkExecutor::Execute"),
    )
    found = account(one)
    assert found is not None
    assert next(part for part in parts(found, owners(found)) if part.kind == "op").name == name


def test_one_with_less_is_named_where_no_family_has_as_much() -> None:
    spread = {**MIXED, "D": f"{NET}/head/Softmax:Softmax", "E": f"{NET}/norm/Cumsum:Cumsum"}
    one = made("ABCDDEE...", **spread)[0]
    assert (one.kind, one.name) == ("layer", "net/mixer")


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
    single = [
        owner(name, 1, 200)
        for name in (f"{NET}/hop_0/Einsum", f"{NET}/hop_1/MatMul", f"{NET}/out/AddRow")
    ]
    loss = owner("StatefulPartitionedCall/loss/Square", 1, 50)
    assert Key("layer", "net") not in named_layers([merged, *single, loss]).values()


def test_the_model_itself_is_no_layer() -> None:
    names = {letter: name.replace("/mixer", "") for letter, name in MIXED.items()}
    assert all(part.kind == "op" for part in made("AABBCC....", **names))


def test_any_contraction_is_called_einsum_and_the_layer_says_more() -> None:
    one = made("ACCCCBDDEE", **MIXED)[0]
    assert (one.kind, one.name) == ("layer", "net/mixer")


def test_a_loop_repeats_the_scopes_around_it() -> None:
    inside = "net/reader/while/net/reader/while_grad/body/_9/gradient_tape/net/reader/cell/MatMul"
    assert layer_of(f"StatefulPartitionedCall/{inside}") == ("net", "reader")
    assert layer_of("MatMul") == ()


def test_the_scope_of_a_family_is_the_innermost_with_nearly_all_of_it() -> None:
    (product,) = [part for part in made("AAAAABC...", **MIXED) if part.name == "MatMul"]
    assert scope_with_most(product.owners) == ("net/mixer/fold", 1.0)


SPREAD = {
    **{letter: f"{NET}/block_{letter}/Conv2D:Conv2D" for letter in "FGHI"},
    "A": f"{NET}/attend/MatMul:MatMul",
    "B": f"{NET}/attend/Softmax:Softmax",
}


def test_a_layer_that_stands_out_among_others_stands_for_its_ops() -> None:
    """Four blocks share the largest family; none of them has half of what the layer has."""
    first = made("AABBFGHI..", **SPREAD)[0]
    assert (first.kind, first.name) == ("layer", "net/attend")


def test_ops_that_share_a_label_keep_their_layer() -> None:
    """More ops than can be distinguished: those of one family are one, within each layer."""
    many = [f"{NET}/attend/t{at}/Mul_{at}:Mul" for at in range(40)]
    many += [f"{NET}/attend/t{at}/Add_{at}:Add" for at in range(40)]
    many += [f"{NET}/block_{at % 8}/Mul_{at}:Mul" for at in range(40)]
    ops = [
        Event(name, 2000 * step + 10 * at, 10) for step in (0, 1) for at, name in enumerate(many)
    ]
    waits = [Event("BlockHostUntilReady", 2000 * step, 1300) for step in (0, 1)]
    marks = [Event("train", 2000 * step, 2000, {"step_num": step, "_r": 1}) for step in (0, 1)]
    threads = [line("python", *marks), line("python", *waits), line("tf_pool", *ops)]
    found = account(Host("h", decode(space(plane("/host:CPU", *threads)))))
    assert found is not None
    listed = owners(found)
    assert any(owner.others for owner in listed)
    (first,) = [part for part in parts(found, listed) if part.kind == "layer"]
    assert first.name == "net/attend"
    assert first.total_ps == pytest.approx(2 * 80 * 1e7, rel=0.05)


ENCODER = {
    "A": "encoder/query/MatMul:MatMul",
    "B": "encoder/attend/Softmax:Softmax",
    "C": "encoder/mix/BiasAdd:BiasAdd",
    "D": "decoder/look/Gather:Gather",
    "E": "decoder/cell/Tanh:Tanh",
    "F": "decoder/head/Sum:Sum",
}


def test_a_loss_of_one_formula_is_no_other_model() -> None:
    loss = {letter: f"loss/mean/{name[8:]}" for letter, name in ENCODER.items() if letter in "DEF"}
    assert all(part.name != "encoder" for part in made("AABBCCDEF.", **{**ENCODER, **loss}))
