"""What advice says of a model's layers, and of the Python of a model's own calls."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from stepscope.advice import RULES
from stepscope.advice.evidence import layers
from stepscope.advice.parts.hand_over import hands_over
from stepscope.advice.results import Results
from stepscope.analysis.step_account import OwnerRow
from stepscope.result import Finding, Table
from stepscope.tables.parts.grouping import OUTSIDE
from stepscope.tables.parts.part_traits import MANY_OPS, NOT_ONEDNN
from tests.unit.advice.test_growing_steps import OWNER
from tests.unit.advice.test_largest_part import account, first, op, part


def stats(*rows: tuple[str, str, float]) -> Any:
    """Framework op stats with these layers: side, name and share."""
    found = [
        SimpleNamespace(host_or_device=side, layer=name, self_time_frac=share)
        for side, name, share in rows
    ]
    return SimpleNamespace(layers=SimpleNamespace(records=lambda: found))


def test_the_largest_layers_are_named_and_small_ones_are_not() -> None:
    rows = [("Host", "capsules", 0.68), ("Host", "conv2d", 0.16), ("Host", "dense", 0.1)]
    said = " By layer, gradients included, all ops' time is capsules 68%, conv2d 16%."
    assert layers.said(stats(*rows)) == said
    # What the host does for a device is its hand-over.
    assert "attention 70%" in layers.said(stats(*rows, ("Device", "attention", 0.7)))
    assert "capsules" not in layers.said(stats(*rows, ("Device", "attention", 0.7)))
    assert layers.said(stats()) == layers.said(None) == ""


def test_a_models_own_python_hands_its_ops_over() -> None:
    found = account(op("matmul", 6.0), part(kind="wait", name="wait", time_ms=4.0))
    assert hands_over(found, "Block.forward", 1.3)
    assert hands_over(found, "CLIPModel_forward", 1.3)
    assert not hands_over(found, "Block.forward", 6.5), "more than all ops: work of its own"
    assert not hands_over(found, "tokenise", 1.3)
    assert not hands_over(None, "Block.forward", 1.3)


def test_layers_are_told_once_and_not_beside_one_that_is_a_part() -> None:
    rule = next(rule for rule in RULES if rule.id == "largest-part")
    nowhere = {"file": "", "line": 0}
    parts = [op("matmul", 4.0) | nowhere, op("Conv2D", 3.0) | nowhere]
    known: Any = {"framework_op_stats": stats(("Host", "capsules", 0.68))}

    def told(*rows: dict[str, Any]) -> int:
        found = rule.check(Results({"step_account": account(*rows), **known}))
        return sum("By layer" in one.message for one in found if isinstance(one, Finding))

    assert told(*parts) == 1
    layer = part(kind="layer", name="capsules", time_ms=2.0, **nowhere)
    assert told(*parts, layer) == 0


def test_a_layer_of_many_small_ops_is_a_loop_to_be_stacked() -> None:
    many = part(kind="layer", name="net/pairs", made_of="Mul 47%", traits=MANY_OPS)
    assert "stack them" in first(account(many)).actions[0]
    few = part(kind="layer", name="net/pairs", made_of="Mul 47% (net/pairs/mul)")
    assert "settings" in first(account(few)).actions[0]


def test_what_makes_rows_of_which_few_are_read_comes_after_reading_them() -> None:
    layer = part(kind="layer", name="l2_normalize", made_of="Mul 77% (l2_normalize/Mul)")
    found = account(layer)
    name = "gradient_tape/l2_normalize/Mul/x"
    one = OWNER | {"kind": "op", "family": "UnsortedSegmentSum", "name": name}
    owners = Table(OwnerRow, {key: [one[key]] for key in OWNER})
    assert "rows first" in first(replace(found, owners=owners)).actions[0]
    assert "rows first" not in first(found).actions[0]


def test_what_no_gradient_goes_through_may_be_computed_once() -> None:
    """An exponential of a matrix that is the same in every step."""

    def found(gradient: str, name: str = "matrix_exponential") -> Finding:
        layer = part(kind="layer", name=name, made_of="MatMul 74%")
        one = OWNER | {"kind": "op", "family": "MatMul", "name": gradient}
        owners = Table(OwnerRow, {key: [one[key]] for key in OWNER})
        return first(replace(account(layer), owners=owners))

    assert "none of these" in found("gradient_tape/net/dense/MatMul").actions[0]
    assert "settings" in found("gradient_tape/matrix_exponential/MatMul").actions[0]
    assert "settings" in found("net/dense/MatMul").actions[0], "nothing is trained"
    # Layers of a kind come together, without their numbers.
    kind = "net/hop (2 layers)"
    assert "settings" in found("gradient_tape/net_1/hop_1_2/MatMul/MatMul_1", kind).actions[0]
    assert "none of these" in found("gradient_tape/net_1/dense_1/MatMul", kind).actions[0]


def test_what_ends_an_epoch_is_not_the_hand_over_of_work() -> None:
    freed = part(kind="framework", first="TFE_DeleteTensorHandle", first_frac=0.6, time_ms=4.0)
    told = first(account(freed))
    assert told.title == "Freeing tensors and iterators takes 24% of the step"
    assert "each epoch of Keras' fit" in told.message
    assert told.severity == "info"


def test_a_pass_without_gradients_is_asked_what_it_is_for() -> None:
    apart = part(
        kind="layer",
        name="a pass without gradients",
        made_of="aten/conv2d 63%, aten/batch_norm 32%",
    )
    found = first(account(apart))
    assert found.title == "A pass without gradients takes 50% of the step"
    assert "Without gradients the step runs ops" in found.message
    assert "aten/conv2d 63%" in found.message
    assert "every n-th step" in found.actions[0]


def test_cells_that_are_called_for_each_position_are_one_layer() -> None:
    within = op("matmul", 6.0, between="within aten/lstm_cell")
    assert first(account(within)).actions[0].startswith("A recurrent cell is called for each")
    whole = op("matmul", 6.0, between="within aten/lstm")
    assert "recurrent cell" not in "".join(first(account(whole)).actions)


def test_products_in_no_kernel_for_float32_may_be_in_double() -> None:
    plain = op("MatMul", 8.0, made_of="net/dense/MatMul 100%", traits=NOT_ONEDNN)
    found = first(account(plain))
    assert found.title == "MatMul takes 80% of the step, in float64 or without oneDNN"
    assert found.actions[0].startswith("Check the data type of weights and inputs: these")
    known = first(account(op("MatMul", 8.0, traits=NOT_ONEDNN, data_type="f32")))
    assert "float64" not in known.title and "float64" not in "".join(known.actions)


def test_ops_outside_of_layers_are_the_losss() -> None:
    found = first(account(part(kind="layer", name=OUTSIDE, time_ms=6.0, made_of="Square 60%")))
    assert found.title == "Ops outside of the model's layers take 60% of the step"
    assert "a regulariser or a penalty goes over all rows" in found.actions[0]


def test_ops_that_compare_and_count_outside_of_layers_are_a_metrics() -> None:
    made_of = "Mul 53% (call/mul_1), Sum 19% (call/Sum_3), GreaterEqual 11% (call/GreaterEqual)"
    found = first(account(part(kind="layer", name=OUTSIDE, time_ms=6.0, made_of=made_of)))
    assert found.actions[0].startswith("Ops that compare (Greater, Equal) beside sums")


def test_a_training_step_that_is_mostly_the_models_ops_is_the_model() -> None:
    """What a callback costs beside it is easier to change."""
    model = part(
        kind="function", name="Trainer.training_step", function="Trainer.training_step",
        time_ms=6.8, made_of="convolution 40% (trainer.py:18), batch_norm 19% (trainer.py:18), "
        "max_pool2d_with_indices in aten::max_pool2d 16% (trainer.py:18), mul 5% (trainer.py:19)",
    )  # fmt: skip
    callback = part(name="Board.on_step_end", function="Board.on_step_end", time_ms=1.8)
    assert first(account(model, callback)).title.startswith("Board.on_step_end")
    other = model | {"made_of": "cumsum 60% (trainer.py:18), sort 30% (trainer.py:18)"}
    assert first(account(other, callback)).title.startswith("Trainer.training_step")
