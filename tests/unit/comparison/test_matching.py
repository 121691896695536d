"""Matching rows of two runs: exact names, numbers, order, renamed modules, and what is left."""

from stepscope.comparison.breakdown import OP, Item
from stepscope.comparison.levels import Label, op_level
from stepscope.comparison.matching import Pair, match


def labels(*names: str, type_: str = "MatMul", same_framework: bool = True) -> list[Label]:
    level = op_level(same_framework=same_framework)
    return [level(Item(OP, "Device", name, type_, "k", "device_compute_32")) for name in names]


def test_equal_names_are_the_same_op() -> None:
    found = match(
        labels("a/dense/MatMul", "a/dense_1/MatMul"), labels("a/dense_1/MatMul", "a/dense/MatMul")
    )
    assert set(found) == {Pair((0,), (1,), "name"), Pair((1,), (0,), "name")}


def test_as_many_ops_with_other_numbers_are_paired_in_order() -> None:
    found = match(
        labels("dense_9/MatMul", "dense_10/MatMul"), labels("dense_12/MatMul", "dense_11/MatMul")
    )
    assert set(found) == {Pair((0,), (1,), "number"), Pair((1,), (0,), "number")}


def test_one_more_op_of_a_kind_is_the_one_without_a_partner() -> None:
    found = match(
        labels("dense/MatMul", "dense_1/MatMul"),
        labels("dense/MatMul", "dense_1/MatMul", "dense_2/MatMul"),
    )
    assert Pair((), (2,), "") in found
    assert {pair.how for pair in found} == {"name", ""}


def test_a_renamed_module_is_matched_by_op_and_type() -> None:
    found = match(labels("encoder/attention/MatMul"), labels("decoder/self/MatMul"))
    assert found == [Pair((0,), (0,), "type")]


def test_one_path_is_one_op_though_its_kernel_has_another_type() -> None:
    """OneDNN's _MklNativeConv2D in float32 is Conv2D in float16."""
    found = match(labels("a/x", "b/y"), labels("a/x", type_="Mul") + labels("b/y"))
    assert {pair.how: pair.before for pair in found} == {"path": (0,), "name": (1,)}


def test_what_cannot_be_told_apart_is_one_row() -> None:
    found = match(
        labels("a_1/MatMul", "a_2/MatMul", "a_3/MatMul"), labels("a_7/MatMul", "a_8/MatMul")
    )
    assert found == [Pair((0, 1, 2), (0, 1), "number")]


def test_classes_match_only_between_frameworks() -> None:
    jax = labels("jit(f)/dot_general", type_="dot_general")
    assert {pair.how for pair in match(labels("a/MatMul"), jax)} == {""}
    tensorflow = labels("a/MatMul", same_framework=False)
    jax = labels("jit(f)/dot_general", type_="dot_general", same_framework=False)
    assert match(tensorflow, jax) == [Pair((0,), (0,), "class")]


def test_nothing_matches_nothing() -> None:
    assert match([], []) == []
    assert match(labels("a/MatMul"), []) == [Pair((0,), (), "")]
