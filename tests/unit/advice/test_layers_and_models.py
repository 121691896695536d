"""What advice says of a model's layers, and of the Python of a model's own calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from stepscope.advice import RULES
from stepscope.advice.evidence import layers
from stepscope.advice.parts.hand_over import hands_over
from stepscope.advice.results import Results
from stepscope.result import Finding
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
