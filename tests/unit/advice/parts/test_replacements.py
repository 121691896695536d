"""What is advised instead of an op fits its family."""

from __future__ import annotations

import pytest

from stepscope.advice.parts.line_words import instead_of_line, instead_of_permutation
from stepscope.advice.parts.replacements import (
    _FAMILIES,
    instead_of,
    instead_of_columns,
    instead_of_reads,
    instead_of_rows,
    instead_of_slices,
    instead_within,
)
from stepscope.tables.traits.op_families import PRODUCTS
from stepscope.verdicts.sentences import chosen


def test_no_family_has_two_replacements_and_products_have_none() -> None:
    listed = [name for names in _FAMILIES.values() for name in names.split()]
    assert len(listed) == len(set(listed))
    assert PRODUCTS.isdisjoint(listed)


@pytest.mark.parametrize(
    ("family", "framework", "says"),
    [
        ("Sort", "tensorflow", "tf.math.top_k"),
        ("sort", "jax", "jax.lax.top_k"),
        ("OneHot", "tensorflow", "tf.nn.embedding_lookup"),
        ("while", "jax", "jax.vmap"),
        ("cat", "pytorch", "join them once"),
        ("item", "pytorch", "every n-th step"),
        ("SparseTensorDenseMatMul", "tensorflow", "tf.sparse.to_dense"),
        ("MaxPoolWithArgmax", "tensorflow", "tf.nn.max_pool2d"),
    ],
)
def test_it_is_in_the_frameworks_own_words(family: str, framework: str, says: str) -> None:
    assert says in chosen(instead_of(family), framework)


def test_of_an_unknown_family_nothing_is_known() -> None:
    assert instead_of("my_kernel") == ""


@pytest.mark.parametrize(
    ("made_of", "reads"),
    [("aten/select 65%, aten/item 17%", True), ("items.append 50%, aten/add 20%", False)],
)
def test_values_read_one_by_one_are_to_be_read_at_once(made_of: str, reads: bool) -> None:
    assert bool(instead_of_reads(made_of)) == reads


@pytest.mark.parametrize(
    ("made_of", "is_for_order"),
    [
        ("jit(train)/while/body/jit(_shuffle)/sort 93%, jit(train)/jit(_shuffle)/add 6%", True),
        ("aten/randperm 88%", True),
        ("RandomShuffle 50%, Cast 10%", True),
        ("jit(train)/jit(_uniform)/add 90%", False),
        ("jit(train)/jit(_shuffle)/sort 20%, jit(train)/jit(_uniform)/add 70%", False),
    ],
)
def test_who_permutes_all_to_draw_a_few_draws_with_replacement(
    made_of: str, is_for_order: bool
) -> None:
    assert bool(instead_of_permutation(made_of)) == is_for_order


@pytest.mark.parametrize(
    ("made_of", "is_said"),
    [
        ("gather 55%, dot_general 22%, transpose 17%, scatter-add 6%", True),
        ("gather 20%, dot_general 60%", False),
        ("gather 70%, add 20%", False),  # rows of a table, and nothing multiplied
    ],
)
def test_a_weight_for_each_row_is_applied_before_it_is_gathered(
    made_of: str, is_said: bool
) -> None:
    assert instead_of_line(made_of).startswith("Where a weight is gathered") is is_said


def test_a_loop_that_slices_what_it_goes_over_copies() -> None:
    """A cache of all layers that a scan takes as xs and gives back as ys."""
    sliced = "jit(f)/jit(dynamic_index_in_dim)/dynamic_slice 61%"
    put = "…/jit(dynamic_update_index_in_dim)/dynamic_update_slice and 1 other op 19%"
    assert "is sliced" in instead_of_slices(f"{sliced}, {put}, jit(f)/while/dot 10%")
    assert instead_of_slices(f"jit(f)/while/dot 70%, {put}") == ""


@pytest.mark.parametrize(
    ("op", "is_row"),
    [
        ("gradient_tape/dense_1/mul_2/pfor/Mul", True),
        ("gradient_tape/dense_1/mul_2/Mul", False),
        ("pforest/Mul", False),
    ],
)
def test_rows_of_a_jacobian_are_told_by_their_ops(op: str, is_row: bool) -> None:
    assert ("tape.jacobian" in instead_of_rows(op)) == is_row


@pytest.mark.parametrize(
    ("op", "is_column"),
    [
        ("jit(improve)/vmap(jvp())/dot_general", True),
        ("jit(improve)/jit(loss)/vmap(jvp(jit(softplus)))/mul", True),
        ("jit(improve)/jvp(vmap())/dot_general", False),
        ("improve/vmap(jvp())/dot_general", False),
    ],
)
def test_columns_of_a_jacobian_are_told_by_their_ops(op: str, is_column: bool) -> None:
    assert ("jax.grad" in instead_of_columns(op)) == is_column


@pytest.mark.parametrize(
    ("where", "is_said"),
    [
        ("jit(step)/transpose(jvp(NCF))/user/jit(_take)/broadcast_in_dim", True),
        ("jit(step)/transpose(jvp(NCF))/user/jit(_take)/scatter-add", True),
        ("within autograd/EmbeddingBackward0, the gradient of aten/embedding", True),
        ("jit(step)/jvp(NCF)/user/jit(_take)/gather", False),
        ("jit(step)/transpose(jvp(NCF))/Dense_0/broadcast_in_dim", False),
        ("", False),
    ],
)
def test_the_gradient_of_rows_that_are_looked_up_is_a_whole_table(
    where: str, is_said: bool
) -> None:
    assert ("update them alone" in instead_within(where)) is is_said
