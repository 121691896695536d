"""An op of PyTorch's that stands for what it runs, by where ops run when no line was recorded."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import owners
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import Part, parts
from tests.profiles import space
from tests.profiles.model import Event, host, line

#: An op, its begin and its length in µs, within a step of 1,000 µs.
Op = tuple[str, float, float]

ATTENTION: list[Op] = [
    ("scaled_dot_product_attention", 0, 400),
    ("bmm", 10, 150),
    ("mul", 165, 90),
    ("bernoulli_", 260, 70),
    ("softmax", 335, 60),
]
REST: list[Op] = [
    ("linear", 410, 130),
    ("mm", 415, 120),
    ("relu", 550, 120),
    ("layer_norm", 680, 90),
]


def made(*ops: Op, frames: tuple[Op, ...] = ()) -> Host:
    """Three steps that run these ops of PyTorch."""
    events: list[Event] = []
    for step in range(3):
        begin = step * 1000.0
        events.append(Event("train", begin, 1000.0, {"step_num": step, "_r": 1}))
        events += [Event(name, begin + at, length) for name, at, length in frames]
        events += [Event(f"aten/{op}:{op}", begin + at, length) for op, at, length in ops]
    return Host("h", decode(space(host(line("python", *events)))))


def found(*ops: Op, frames: tuple[Op, ...] = ()) -> list[Part]:
    profile = made(*ops, frames=frames)
    one = account(profile)
    assert one is not None
    return parts(one, owners(one))


def test_what_it_runs_is_one_part() -> None:
    first = found(*ATTENTION, *REST)[0]
    assert (first.kind, first.name) == ("layer", "aten/scaled_dot_product_attention")
    assert first.total_ps / 3e6 == pytest.approx(400, abs=5)


@pytest.mark.parametrize(
    ("ops", "why"),
    [
        (
            [("linear", 0, 400), ("t", 1, 20), ("addmm", 30, 200), ("add_", 240, 100), *REST],
            "a layer that multiplies is that product",
        ),
        (
            [("gelu", 0, 400), ("mul", 10, 200), ("erf", 220, 170), *REST],
            "an elementwise op says less than the chain it is in",
        ),
        ([("norm", 0, 100), ("pow", 1, 40), ("sum", 50, 40), *REST], "others take longer"),
    ],
)
def test_else_families_stay_parts(ops: list[Op], why: str) -> None:
    assert all(part.kind != "layer" for part in found(*ops)), why


def test_lines_of_the_program_say_more() -> None:
    lines = (("$train.py:4 main", 0.0, 990.0), ("$net.py:8 attend", 1.0, 580.0))
    assert all(part.kind != "layer" for part in found(*ATTENTION, *REST, frames=lines))
