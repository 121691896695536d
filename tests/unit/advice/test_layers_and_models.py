"""What advice says of a model's layers, and of the Python of a model's own calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from stepscope.advice.evidence import layers
from stepscope.advice.evidence.hand_over import hands_over
from tests.unit.advice.test_largest_part import account, op, part


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
