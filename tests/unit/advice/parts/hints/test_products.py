"""What to look at first in products, where names tell what they are of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stepscope.analysis.step_account import OwnerRow, StepAccount
from stepscope.result import Table
from stepscope.tables.parts.part_traits import (
    BROADCAST,
)
from tests.unit.advice.test_growing_steps import OWNER
from tests.unit.advice.test_largest_part import account, first, op


def running(part: dict[str, Any], *names: str) -> StepAccount:
    rows = [OWNER | {"name": name, "kind": "op"} for name in names]
    owners = Table(OwnerRow, {name: [row[name] for row in rows] for name in OWNER})
    return replace(account(part), owners=owners)


def test_a_graphs_matrix_is_mostly_zeros() -> None:
    layer = op("MatMul", 8.0) | {"op": "gradient_tape/net/graph_conv_1/matmul/MatMul"}
    found = first(account(layer))
    assert "(A A) X is A (A X)" in found.actions[0]
    assert "sparse" in found.actions[1]
    layers = op("MatMul", 8.0) | {"kind": "layer", "name": "net/diffusion_conv (2 layers)"}
    assert "(A A) X is A (A X)" in first(account(layers)).actions[0]
    assert "sparse" in first(account(op("dot_general", 8.0) | {"function": "gcn"})).actions[1]
    usual = first(account(op("MatMul", 8.0) | {"op": "net/conv_1/MatMul"}))
    assert "sparse" not in "".join(usual.actions)


def test_a_product_that_is_sparse_already_depends_on_its_order() -> None:
    layer = op("matmul", 8.0) | {"function": "GraphConv.forward", "between": "in _sparse_mm"}
    (look, *_rest) = first(running(layer, "aten/addmm")).actions
    assert "(A X) W is A (X W)" in look
    by_edge = first(running(op("dot_general", 8.0) | {"function": "gcn"}, "jit(f)/scatter-add"))
    assert "graph" not in " ".join(by_edge.actions)


@pytest.mark.parametrize(
    ("names", "is_said"),
    [
        (("ArgMax", "Softmax_2", "einsum/Einsum"), True),
        (("aten/argmax", "aten/_softmax"), True),
        (("ArgMax", "conv/Conv2D"), False),  # a classifier
        (("ArgMax", "Softmax", "gradient_tape/net/MatMul"), False),
    ],
)
def test_what_chooses_the_next_position_may_keep_those_before(
    names: tuple[str, ...], is_said: bool
) -> None:
    found = first(running(op("MatMul", 8.0), *names))
    assert ("keep the keys and values" in found.actions[0]) is is_said


def test_a_step_that_pads_texts_computes_the_padding() -> None:
    pads = "text_vectorization_1/RaggedToTensor/RaggedTensorToTensor"
    found = first(running(op("MatMul", 8.0), "ArgMax", "Softmax_2", pads))
    assert f"pads sequences of several lengths to one ({pads})" in found.actions[0]
    assert "keep the keys and values" not in " ".join(found.actions)  # it reads texts


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        ("while/body/_1/while/summarizer/encoder_block_2/dense/MatMul", "encoder_block_2 runs in"),
        ("jit(write)/while/body/closed_call/Encoder_0/dot_general", "Encoder_0 runs in"),
        ("summarizer/encoder_block_2/dense/MatMul", ""),  # once, before the loop
        ("while/body/_1/while/summarizer/decoder_block_2/dense/MatMul", ""),
    ],
)
def test_an_encoder_within_the_loop_that_chooses_may_run_before_it(layer: str, said: str) -> None:
    found = first(running(op("MatMul", 8.0), "while/body/ArgMax", "while/body/Softmax", layer))
    assert found.actions[0].startswith(said) if said else "stays the same, run" not in str(found)
    assert "keep the keys and values" in " ".join(found.actions)


def test_layers_that_each_have_names_of_their_own_count_once() -> None:
    """TensorFlow names ten ops of each of 40 layers; each runs once before the next choice."""
    named = [f"block_{at}/attention/op_{op}" for at in range(40) for op in range(10)]
    found = first(running(op("MatMul", 8.0), "ArgMax", *named))
    assert "keep the keys and values" in found.actions[0]


@pytest.mark.parametrize(("layers", "is_said"), [(96.0, True), (1000.0, False)])
def test_who_attends_hundreds_of_times_before_it_chooses_once_adds_no_position(
    layers: float, is_said: bool
) -> None:
    """An encoder of texts finds their end by argmax, once for a picture of many passes."""
    rows = [
        OWNER | {"kind": "op", "name": name, "stretches": often}
        for name, often in (("aten/argmax", 1.0), ("aten/_flash_attention_forward", layers))
    ]
    owners = Table(OwnerRow, {name: [row[name] for row in rows] for name in OWNER})
    found = first(replace(account(op("matmul", 8.0)), owners=owners))
    assert ("keep the keys and values" in found.actions[0]) is is_said


@pytest.mark.parametrize(
    ("part", "name", "is_said"),
    [
        (op("MatMul", 6.0), "LogSoftmax", True),
        (op("dot_general", 6.0), "jit(step)/jvp(jit(log_softmax))/exp", True),
        (op("LogSoftmax", 6.0), "LogSoftmax", True),
        (op("aten/mm", 6.0), "aten/cross_entropy_loss", False),  # no product by that name
        (op("MatMul", 6.0), "Softmax", False),  # attention's
        (op("Conv2D", 6.0) | {"name": "Relu"}, "LogSoftmax", False),
    ],
)
def test_rows_that_do_not_count_need_no_vocabulary(
    part: dict[str, Any], name: str, is_said: bool
) -> None:
    """A log-softmax that has a fifth of the step is over very many classes."""
    found = first(running(part, name))
    assert ("take the rows that count" in " ".join(found.actions)) is is_said


@pytest.mark.parametrize(
    ("shapes", "is_said"),
    [
        ("64×256×32, 64×32×256", True),
        ("64×256×32, 64×32×2560", False),
        ("12288×192, 192×576", False),
        ("", False),
    ],
)
def test_rows_times_themselves_are_attention(shapes: str, is_said: bool) -> None:
    """PyTorch's product has no name but its own."""
    found = first(account(op("matmul", 6.0) | {"op": "aten/bmm", "shapes": shapes}))
    assert ("square of the length" in found.actions[0]) is is_said


@pytest.mark.parametrize(
    ("name", "is_said"),
    [
        ("aten/_softmax", True),
        ("aten/scaled_dot_product_attention", True),
        ("jit(step)/jvp(jit(softmax))/exp", True),
        ("aten/_log_softmax", False),
        ("aten/relu", False),
    ],
)
def test_products_of_a_step_that_attends_are_of_padding_too(name: str, is_said: bool) -> None:
    found = first(running(op("matmul", 6.0) | {"op": "aten/mm"}, name))
    assert any("Pad each batch to its own longest" in one for one in found.actions) is is_said


def test_what_inputs_share_is_run_once_where_nothing_is_trained() -> None:
    scores = "jit(score)/bqhd,bkhd->bhqk/dot_general"
    assert "begin alike" in " ".join(first(running(op("dot_general", 8.0), scores)).actions)
    trained = running(op("dot_general", 8.0), scores, "jit(step)/transpose(jvp())/dot_general")
    assert "begin alike" not in " ".join(first(trained).actions)


def test_a_mask_of_all_pairs_may_be_a_sort_and_running_sums() -> None:
    """Whatever stands for its ops: their family, or the op that runs them."""
    made_of = "exp 57% (aten/exp); aten/ge makes 2048×2048 of 1×2048 and 2048×1 by broadcasting"
    for kind, name in (("op", "elementwise"), ("layer", "aten/logsumexp")):
        masked = op(name, 8.0, traits=BROADCAST, made_of=made_of) | {"kind": kind}
        assert first(account(masked)).actions[0].startswith("If the rows of one list are")
    apart = op("elementwise", 8.0, traits=BROADCAST, made_of=made_of.replace("ge ", "sub "))
    assert first(account(apart)).actions[0].startswith("Look at these shapes")


def test_an_op_that_folds_has_no_widths_to_halve() -> None:
    folds = first(account(op("aten/logsumexp", 8.0) | {"kind": "layer"}))
    assert "units per head" not in " ".join(folds.actions)
    layer = first(account(op("aten/scaled_dot_product_attention", 8.0) | {"kind": "layer"}))
    assert "units per head" in " ".join(layer.actions)


def test_products_at_two_lines_of_a_function_may_be_in_the_dearer_order() -> None:
    lines = "matmul_8 and 20 other ops 100%; at net.py:65 basis 57%, net.py:64 basis 42%"
    found = first(account(op("MatMul", 8.0, made_of=lines)))
    assert found.actions[0].startswith("Of products one after the other the order decides")
    apart = lines.replace("64 basis", "30 call")
    assert "order decides" not in " ".join(first(account(op("MatMul", 8.0, made_of=apart))).actions)
