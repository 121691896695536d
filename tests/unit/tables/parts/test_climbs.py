"""What goes over all that came before it takes longer and longer, and begins again."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.columns.space import I64
from stepscope.tables.parts.climbs import climb_of_steps, climb_within


def tokens(texts: int, length: int, first: float, *, noise: float = 0.02, seed: int = 0) -> I64:
    """Times of steps that make texts token by token, from a prompt on."""
    rng = np.random.default_rng(seed)
    one = first + np.arange(length)
    many = np.tile(one, texts) * rng.normal(1, noise, texts * length)
    return np.asarray(1_000_000 * many, dtype=np.int64)


@pytest.mark.parametrize(("texts", "length", "first"), [(4, 24, 40), (2, 16, 8), (9, 10, 3)])
def test_tokens_of_texts_climb_and_fall_back(texts: int, length: int, first: int) -> None:
    found = climb_of_steps(tokens(texts, length, first))
    assert found is not None
    third = length // 3
    growth = (first + length - (third + 1) / 2) / (first + (third - 1) / 2)
    assert abs(found.steps - length) <= 1
    assert found.growth == pytest.approx(growth, rel=0.15)


def test_a_recording_may_begin_and_end_within_a_text() -> None:
    found = climb_of_steps(tokens(5, 20, 30)[9:-8])
    assert found is not None
    assert abs(found.steps - 20) <= 1


@pytest.mark.parametrize("seed", range(20))
def test_steps_that_only_differ_do_not_climb(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert climb_of_steps(rng.integers(80, 120, 60)) is None
    assert climb_of_steps(rng.lognormal(3, 0.5, 60).astype(np.int64)) is None


def test_a_single_trend_is_no_climb() -> None:
    assert climb_of_steps(np.arange(100, 160)) is None


def test_bursts_are_no_climb_whatever_lies_between_them() -> None:
    # Minibatches of an agent that plays before every eighth, on a busy machine; as recorded.
    short = [1.1, 1.2, 1.2, 9.5, 1.2, 1.2, 1.1, 549.8, 17.3, 9.4, 17.3]
    more = [1.3, 1.3, 1.5, 1.2, 404.8, 1.3, 1.3, 13.2, 33.8, 1.3, 18.8]
    assert (
        climb_of_steps(np.asarray([1e9 * one for one in (*short, *more)], dtype=np.int64)) is None
    )


@pytest.mark.parametrize("length", [9, 12, 20])
def test_a_jump_is_no_climb(length: int) -> None:
    one = np.where(np.arange(length) < length - 3, 100, 300)
    assert climb_of_steps(np.tile(one, 4)) is None


def test_climbs_of_any_length_are_texts_of_any_length_and_not_said() -> None:
    lengths = (7, 19, 11, 24, 8, 15)
    times = np.concatenate([tokens(1, length, 5, noise=0) for length in lengths])
    assert climb_of_steps(times) is None


def test_runs_of_layers_get_longer_within_each_step() -> None:
    layers = np.asarray([3.0, 1.0, 2.0, 5.0])
    one = np.concatenate([layers * (20 + token) for token in range(60)])
    found = climb_within(np.repeat(np.arange(3), len(one)), np.tile(one, 3))
    assert found is not None
    assert found.steps == 0
    assert found.growth == pytest.approx(69.5 / 29.5, rel=0.05)


def test_layers_of_growing_size_are_a_model() -> None:
    one = np.repeat([1.0, 2.0, 4.0, 8.0], 5)
    assert climb_within(np.repeat(np.arange(4), len(one)), np.tile(one, 4)) is None


def test_runs_that_only_differ_do_not_climb() -> None:
    rng = np.random.default_rng(7)
    step = np.repeat(np.arange(4), 240)
    assert climb_within(step, rng.lognormal(3, 0.5, len(step))) is None
    assert climb_within(step[:0], np.empty(0)) is None


def test_two_climbs_that_are_no_more_even_than_a_busy_machine_are_none() -> None:
    """Loops of a recurrent layer on a machine with other work, in ms: no text that grows."""
    busy = [57.3, 19.9, 21.8, 16.2, 19.8, 64.0, 37.8, 121.3, 5.5]
    busy += [5.0, 18.8, 40.2, 64.6, 93.9, 4.5, 5.2, 21.3]
    assert climb_of_steps(np.asarray([1e9 * one for one in busy], dtype=np.int64)) is None
