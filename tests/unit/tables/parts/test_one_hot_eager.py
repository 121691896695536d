"""PyTorch's ops run one by one: a product that is given one-hot rows goes with what makes them."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.made_of import made_of
from stepscope.tables.parts.programs import compiled_parts
from tests.profiles import space
from tests.profiles.model import Event, host, line

Op = tuple[str, float, float]
# An op of a µs position and length in a step of 1,000, with what it runs.
CODES: list[Op] = [("one_hot", 0, 200), ("fill_", 10, 180)]
CAST: list[Op] = [("to", 210, 50), ("_to_copy", 211, 48), ("copy_", 212, 45)]
LOOK_UP: list[Op] = [("linear", 270, 300), ("mm", 280, 280)]
GRU: list[Op] = [("gru", 600, 300), ("linear", 601, 140), ("mm", 602, 138), ("tanh_", 750, 100)]


def made(*ops: Op, frames: tuple[Op, ...] = ()) -> Host:
    events: list[Event] = []
    for step in range(3):
        begin = step * 1000.0
        events.append(Event("train", begin, 1000.0, {"step_num": step, "_r": 1}))
        events += [Event(name, begin + at, length) for name, at, length in frames]
        events += [Event(f"aten/{op}:{op}", begin + at, length) for op, at, length in ops]
    return Host("h", decode(space(host(line("python", *events)))))


def parts_of(one: Host) -> dict[str, float]:
    found = account(one)
    assert found is not None
    listed = compiled_parts(one, found, owners(found))
    return {part.name: part.total_ps / 3e6 for part in listed if part.kind == "op"}


def test_the_layer_that_follows_is_given_what_it_made() -> None:
    found = parts_of(made(*CODES, *CAST, *LOOK_UP, *GRU))
    # The linear layer, and what runs in it; that within the GRU stays apart.
    assert found["one_hot"] == pytest.approx(200 + 300, abs=3)
    assert found["matmul"] == pytest.approx(140, abs=3)


@pytest.mark.parametrize(
    ("ops", "why"),
    [
        ([*CODES, ("relu", 205, 3), *LOOK_UP], "another op lies between"),
        ([*CODES, ("linear", 270, 20), ("mm", 271, 18), ("relu", 300, 5), ("linear", 310, 400),
          ("mm", 311, 390)], "most linear layers are given something else"),
        ([("one_hot", 0, 10), ("fill_", 1, 8), *LOOK_UP, *GRU], "labels cost nothing"),
    ],
)  # fmt: skip
def test_else_products_stay_apart(ops: list[Op], why: str) -> None:
    products = sum(length for name, _at, length in ops if name == "linear")
    assert parts_of(made(*ops))["matmul"] == pytest.approx(products, abs=3), why


def test_in_a_function_the_op_around_says_more_than_fill() -> None:
    lines = (("$train.py:4 main", 0.0, 990.0), ("$net.py:8 embed", 1.0, 580.0))
    one = made(*CODES, *CAST, *LOOK_UP, *GRU, frames=lines)
    found = account(one)
    assert found is not None
    (function,) = [each for each in compiled_parts(one, found, owners(found))
                   if each.kind == "function"]  # fmt: skip
    assert "fill in aten::one_hot" in made_of(function, one)
    assert "copy in aten::to" in made_of(function, one)
