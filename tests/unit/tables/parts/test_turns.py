"""The turns of a loop within PyTorch's step, told by its ops alone."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.schema import names
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.turns import InARow, Turns, in_a_row, turns
from tests.profiles import event
from tests.unit.formats.kineto.layout import profile, x
from tests.unit.tables.account.test_account import host

STEP_US = 1000.0


def op(name: str, at: float, length: float, rows: int = 8, **said: Any) -> dict[str, Any]:
    """An op that works on ``rows`` x 4."""
    return x("cpu_op", f"aten::{name}", at, length, **{"Input Dims": [[rows, 4]], **said})


def recorded(folder: Path, *steps: list[dict[str, Any]]) -> Host:
    """Three steps of 1 ms, each with the same events, given for a step that begins at 0."""
    folder.mkdir(exist_ok=True)
    events = []
    for number in range(3):
        at = number * STEP_US
        events.append(x("user_annotation", f"ProfilerStep#{number}", at, STEP_US))
        listed = chain.from_iterable(steps)
        events += [{**one, "ts": one["ts"] + at} for one in listed]
    (host,) = profile(folder, events).hosts
    return host


def experts(count: int = 8, *, grows: int = 0) -> list[dict[str, Any]]:
    """Each 50 µs: linear 30, silu 10, mul and add; with a view, which is not an op of a turn."""
    found = []
    for one in range(count):
        at, rows = 100.0 + 50 * one, 8 + grows * one
        found += [
            op("linear", at, 30, rows),
            op("silu", at + 30, 10, rows),
            *([op("slice", at + 40, 1, rows)] if one % 2 else []),
            op("mul", at + 41, 4, rows),
            op("add", at + 45, 5, rows),
        ]
    return found


def test_experts_one_after_the_other_are_turns(tmp_path: Path) -> None:
    """8 turns of 50 of 1000 µs, nearly all of it in ops."""
    found = turns(recorded(tmp_path, [op("sort", 10, 50)], experts(), [op("stack", 600, 9)]))
    assert found is not None
    assert replace(found, step_frac=0.0, ops_frac=0.0) == Turns(
        ops="aten/linear, aten/silu, aten/add",
        op_count=4,
        times=8,
        places=1,
        after="aten/sort",
        before="aten/stack",
        within="",
        is_same_size=True,
        is_layers=True,
        is_training=False,
        step_frac=0.0,
        ops_frac=0.0,
    )
    assert found.step_frac == pytest.approx(0.4)
    assert found.ops_frac == pytest.approx(0.98, abs=0.02)


def test_turns_on_growing_sizes_are_told_from_those_on_the_same(tmp_path: Path) -> None:
    found = turns(recorded(tmp_path, experts(grows=2)))
    assert found is not None
    assert (found.times, found.is_same_size) == (8, False)
    assert turns(recorded(tmp_path / "few", experts(4, grows=2))) is None


def test_gradients_of_the_turns_count(tmp_path: Path) -> None:
    """8 turns with numbers 0 to 15; their gradients take 300 µs, those of others 90."""
    forward, backward = [op("sort", 10, 50, **{"Sequence number": 99})], []
    for one in range(8):
        forward += [
            op("linear", 100 + 30 * one, 20, **{"Sequence number": 2 * one}),
            op("silu", 120 + 30 * one, 10, **{"Sequence number": 2 * one + 1}),
        ]
    for at, number in ((400.0, 99), (500.0, 1), (600.0, 15), (700.0, 8)):
        name = "autograd::engine::evaluate_function: AddmmBackward0"
        said = {"Sequence number": number, "Fwd thread id": 1}
        backward.append(x("cpu_op", name, at, 90 if number == 99 else 100, **said))
    found = turns(recorded(tmp_path, forward, backward))
    assert found is not None
    assert (found.times, found.is_training) == (8, True)
    assert found.step_frac == pytest.approx((240 + 300) / STEP_US)


@pytest.mark.parametrize("grows", [0, 2])
def test_layers_look_like_layers(tmp_path: Path, grows: int) -> None:
    """A norm and a product are a layer; a network whose layers have other sizes each is usual."""
    listed = [
        op(name, 100 + 50 * one + begin, 25, 8 + grows * one)
        for one in range(6)
        for begin, name in ((0, "layer_norm"), (25, "linear"))
    ]
    found = turns(recorded(tmp_path, listed))
    if grows:
        assert found is None
    else:
        assert found is not None
        assert found.is_layers


@pytest.mark.parametrize(("owned", "is_layers"), [(0, True), (3, False), (8, True), (16, True)])
def test_layers_have_weights_of_their_own(tmp_path: Path, owned: int, is_layers: bool) -> None:
    """8 turns with a product: of three parameters they are passes, of eight they may be layers."""
    name = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
    ends = [x("cpu_op", name, 700 + 10 * one, 5) for one in range(owned)]
    found = turns(recorded(tmp_path, experts(), ends))
    assert found is not None
    assert found.is_layers is is_layers


@pytest.mark.parametrize("has_sizes", [True, False])
def test_cells_that_share_their_weights_are_no_layers(tmp_path: Path, has_sizes: bool) -> None:
    """80 positions of one recurrent cell: it is named like a layer, and has four parameters."""
    name = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
    cells = [op("gru_cell", 50 + 8 * one, 7) for one in range(80)]
    if not has_sizes:
        cells = [{**one, "args": {}} for one in cells]
    found = turns(recorded(tmp_path, cells, [x("cpu_op", name, 900 + one, 1) for one in range(4)]))
    assert found is not None
    assert (found.times, found.is_layers) == (80, False)


def test_what_multiplies_with_nothing_or_comes_too_often_is_no_layer(tmp_path: Path) -> None:
    draws = [op("randint", 100 + 40 * one, 30) for one in range(8)]
    found = turns(recorded(tmp_path, draws))
    assert found is not None
    assert not found.is_layers
    many = [op("linear", 50 + 5 * one, 5) for one in range(150)]
    found = turns(recorded(tmp_path / "many", many))
    assert found is not None
    assert (found.times, found.is_layers) == (150, False)


def test_a_layer_does_not_end_with_its_gradients(tmp_path: Path) -> None:
    """A leap of a sampler's: a product, then its gradient, before the next one."""
    name, said = "MmBackward0", {"Sequence number": 1, "Fwd thread id": 1}
    leaps = [
        event
        for at in range(100, 600, 50)
        for event in (op("matmul", at, 20), x("cpu_op", name, at + 20, 25, **said))
    ]
    found = turns(recorded(tmp_path, leaps))
    assert found is not None
    assert not found.is_layers


def test_a_loop_is_told_with_its_places_and_the_range_around_it(tmp_path: Path) -> None:
    """8 and 6 turns, within the range "loss": the ops around them are those of the first place."""
    first = [op("eq", 100 + 20 * one, 20) for one in range(8)]
    second = [op("eq", 400 + 20 * one, 20) for one in range(6)]
    apart = [op("linear", 50, 20), op("sum", 300, 20), op("mul", 600, 20)]
    marked = x("user_annotation", "loss", 80, 500)
    found = turns(recorded(tmp_path, apart, first, second, [marked]))
    assert found is not None
    assert (found.times, found.places) == (7, 2)
    assert (found.after, found.before, found.within) == ("aten/linear", "aten/sum", "loss")


def test_gradients_of_what_leaves_its_number_to_the_next_op_are_not_the_turns(
    tmp_path: Path,
) -> None:
    """Masks need no gradient: they note the number that the linear op after them takes."""
    masks = [op("fill_", 100 + 40 * one, 40, **{"Sequence number": 5}) for one in range(8)]
    after = [op("linear", 450, 20, **{"Sequence number": 5})]
    name = "autograd::engine::evaluate_function: AddmmBackward0"
    back = [x("cpu_op", name, 500, 300, **{"Sequence number": 5, "Fwd thread id": 1})]
    found = turns(recorded(tmp_path, masks, after, back))
    assert found is not None
    assert not found.is_training
    assert found.step_frac == pytest.approx(320 / STEP_US)


def test_a_loop_of_little_time_or_of_two_turns_is_none(tmp_path: Path) -> None:
    assert turns(recorded(tmp_path, experts(4), [op("sort", 350, 500)])) is None
    assert turns(recorded(tmp_path / "two", experts(2), [op("sort", 350, 500)])) is None
    assert turns(recorded(tmp_path / "none")) is None


def test_an_update_of_each_parameter_is_no_loop_of_the_program(tmp_path: Path) -> None:
    """Its ops are the optimizer's; in a closure the same ops may be the model's."""
    updates = [op("addcdiv_", 400 + 50 * one, 50) for one in range(8)]
    step = x("user_annotation", "Optimizer.step#Adam.step", 390, 420)
    name = "autograd::engine::evaluate_function: AddmmBackward0"
    back = x("cpu_op", name, 300, 50, **{"Sequence number": 1, "Fwd thread id": 1})
    assert turns(recorded(tmp_path, [back, step], updates)) is None
    late = {**back, "ts": 805.0}
    assert turns(recorded(tmp_path / "late", [late, step], updates)) is not None


def test_what_devices_run_counts_where_it_takes_longer(tmp_path: Path) -> None:
    """Each turn launches 100 µs of a device that runs behind: 800 of 1000 µs."""
    events = []
    for number in range(3):
        at = number * STEP_US
        events.append(x("user_annotation", f"ProfilerStep#{number}", at, STEP_US))
        for one in range(8):
            begin, code = at + 10 + 30 * one, number * 8 + one + 1
            events.append(op("linear", begin, 20))
            events.append(op("mul", begin + 20, 5))
            events.append(x("cuda_runtime", "cudaLaunchKernel", begin + 2, 5, correlation=code))
            kernel = x("kernel", "gemm", at + 100 + 100 * one, 100, pid=0, tid=7)
            kernel["args"] |= {"correlation": code, "stream": 7, "device": 0}
            events.append(kernel)
    (host,) = profile(tmp_path, events).hosts
    found = turns(host)
    assert found is not None
    assert found.times == 8
    assert found.step_frac == pytest.approx(0.8, abs=0.05)


def drawn(python: str, plane: str) -> Turns:
    """Three steps of five turns and a sort, with what is known of their Python."""
    found = turns(
        host(
            f"""
            /host:CPU
              python      S-------------S-------------S-------------
              "           .ABABABABABO--.ABABABABABO--.ABABABABABO--
            {plane}
              MainThread  T----------------------------------------.
              "           {python}
            """,
            T=event("$train.py:40 main"),
            F=event("$train.py:12 forward"),
            P=event("$train.py:30 post"),
            A=event("aten/mul:mul"),
            B=event("aten/add:add"),
            O=event("aten/sort:sort"),
        )
    )
    assert found is not None
    assert found.times == 5
    return found


def test_the_first_turn_tells_the_place_where_calls_were_traced() -> None:
    found = drawn(".F---------P-..F---------P-..F---------P-.", names.PYTHON_CALLS_PLANE)
    assert (found.function, found.file, found.line) == ("forward", "train.py", 12)


@pytest.mark.parametrize(
    ("seen", "function"),
    [
        ("..F--------P--..F--F-----P--..F--------P--", "forward"),  # four looks in all
        ("...........P--..F--------P--...........P--", ""),  # one look, which is not enough
    ],
)
def test_looks_at_all_steps_tell_the_place_where_calls_were_sampled(
    seen: str, function: str
) -> None:
    assert drawn(seen, names.PYTHON_SAMPLES_PLANE).function == function


def found(text: str, least: int = 3) -> list[tuple[str, int, int]]:
    """What repeats, how often, and where it begins."""
    codes = np.asarray([ord(one) for one in text], np.int64)
    return [
        (text[one.begin : one.begin + one.period], one.times, one.begin)
        for one in in_a_row(codes, least)
    ]


def test_turns_are_found_between_what_comes_once() -> None:
    assert found("xabcabcabcabcyz") == [("abc", 4, 1)]
    assert InARow(1, 3, 4).end == 13


def test_a_loop_of_loops_is_both() -> None:
    """In aab aab aab no two of a make a loop of three, and three turns of aab do."""
    assert found("aabaabaab") == [("aab", 3, 0)]
    assert found("aaabaaabaaab") == [("a", 3, 0), ("a", 3, 4), ("a", 3, 8), ("aaab", 3, 0)]


def test_what_repeats_a_shorter_turn_is_not_listed_again() -> None:
    assert found("abababababab") == [("ab", 6, 0)]
    assert found("abab") == []
    assert found("") == []


@given(st.text("abc", max_size=24), st.integers(2, 4))
def test_every_stretch_of_turns_is_within_one_that_is_found(text: str, least: int) -> None:
    told = in_a_row(np.asarray([ord(one) for one in text], np.int64), least)
    for one in told:
        body = text[one.begin : one.begin + one.period]
        assert text[one.begin : one.end] == body * one.times
        assert one.times >= least
    for begin in range(len(text)):
        for period in range(1, (len(text) - begin) // least + 1):
            if text[begin : begin + period * least] == text[begin : begin + period] * least:
                assert any(
                    period % one.period == 0
                    and one.begin <= begin
                    and begin + period * least <= one.end + one.period - 1
                    for one in told
                )


@pytest.mark.parametrize("kinds", [1, 2, 5_000])
def test_eight_thousand_of_any_kind_cost_a_bounded_number_of_comparisons(kinds: int) -> None:
    """A long search would compare each with each: 32 million times, and look for each turn."""
    codes = np.random.default_rng(0).integers(0, kinds, 8_000)
    begin = time.process_time()
    in_a_row(codes, 3)
    one_pass = time.process_time()
    for _ in range(2_700):
        (codes[1:] == codes[:-1]).sum()
    assert one_pass - begin < 20 * (time.process_time() - one_pass) + 1
