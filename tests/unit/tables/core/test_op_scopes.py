"""The scopes in an op's name that a person gave."""

from __future__ import annotations

import pytest

from stepscope.tables.core.op_scopes import layer_of, routine_of, scopes_of


@pytest.mark.parametrize(
    ("name", "scopes"),
    [
        ("jit(update)/transpose(jvp(vmap()))/add_any", ()),
        ("jit(update)/vmap(jvp())/dot_general", ()),
        ("jit(update)/jvp(vmap(jit(_where)))/select_n", ()),
        ("jit(update)/transpose(jvp(vmap(Encoder)))/Dense_0/dot", ("Encoder", "Dense_0")),
        ("jit(f)/jvp(MLP.__call__)/while/body/dot", ("MLP.__call__",)),
        ("gradient_tape/sequential/dense/MatMul/MatMul_1", ("sequential", "dense", "MatMul")),
        ("jit(f)/vmap(/add", ("vmap(",)),
        ("add", ()),
    ],
)
def test_what_a_transformation_is_called_is_no_scope(name: str, scopes: tuple[str, ...]) -> None:
    assert scopes_of(name) == scopes


def test_a_loop_that_repeats_all_scopes_adds_none() -> None:
    assert layer_of("model/rnn/while/body/model/rnn/dense/MatMul") == ("model", "rnn")
    inside = "net/reader/while/net/reader/while_grad/body/_9/gradient_tape/net/reader/cell/MatMul"
    assert layer_of(f"StatefulPartitionedCall/{inside}") == ("net", "reader")
    assert layer_of("MatMul") == ()


def test_a_long_name_is_read_in_one_pass() -> None:
    """A pattern with a choice at each of 400,000 brackets would not end."""
    name = f"{'jvp(' * 200_000}{')' * 400_000}a)"
    assert scopes_of(f"{name}/add") == (name[4 * 200_000 : -1],)


@pytest.mark.parametrize(
    ("name", "routine"),
    [
        ("jit(step)/transpose(jvp(vmap(vmap(jit(expm)))))/jit(_squaring)/transpose", "expm"),
        ("jit(expm)/dot_general", "expm"),
        ("jit(my_expm)/dot_general", ""),
        ("jit(step)/expm/dot_general", ""),
        ("expm", ""),
    ],
)
def test_functions_of_a_matrix_are_many_ops_of_one_name(name: str, routine: str) -> None:
    assert routine_of(name) == routine
