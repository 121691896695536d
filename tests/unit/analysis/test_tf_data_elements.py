"""Elements of a pipeline: datasets that are made of them, and those that a filter throws away."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.profiles import host as host_plane
from tests.profiles import line, space
from tests.profiles.model import EventLike
from tests.unit.analysis.test_tf_data_bottleneck_analysis import PREFETCH, ROOT, analyze, prefetched

BATCH = f"{PREFETCH}::Batch"
# What makes a batch, from its number, when it begins, its iterator's id and ids for others.
Makes = Callable[[int, float, int, Iterator[int]], list[EventLike]]


def batches(makes: Makes, length: float, period: float, count: int = 4) -> bytes:
    """Calls that wait so long for a batch, made behind a prefetch, once in each period."""
    main: list[EventLike] = []
    pool: list[EventLike] = []
    ids = iter(range(1, 100_000))
    for call in range(count):
        base = period * call + 300
        root, ahead, batch = next(ids), next(ids), next(ids)
        main += [
            ("train", base - 1, 0.9 * period, {"step_num": call, "_r": 1}),
            ("IteratorGetNext", base, length + 20),
            (ROOT, base, length + 20, {"id": root}),
            (PREFETCH, base, length + 10, {"id": ahead, "parent_id": root}),
            ("PrefetchConsume", base + length + 5, 1.0, {"element_id": call}),
        ]
        pool += [
            ("PrefetchProduce", base, length, {"element_id": call}),
            (BATCH, base, length, {"id": batch, "parent_id": ahead}),
            *makes(call, base, batch, ids),
        ]
    threads = line("python", *main), line("tf_data_iterator_resource/1", *pool)
    return space(host_plane(*threads))


def datasets(
    flat: str, number: int, at: float, asked_by: int, ids: Iterator[int], length: float = 39.0
) -> list[EventLike]:
    """One window of a FlatMap, whose dataset is asked twice."""
    joins, of_window = next(ids), f"{flat}[{number}]::BatchV2"
    return [
        (flat, at, length, {"id": joins, "parent_id": asked_by}),
        (f"{flat}::Window", at + 1, 2.0, {"id": next(ids), "parent_id": joins}),
        (of_window, at + 4, 4.0, {"id": next(ids), "parent_id": joins}),
        (of_window, at + 10, 4.0, {"id": next(ids), "parent_id": joins}),
    ]


def windowed(windows: int) -> bytes:
    """Calls that wait a third of their period for windows of 40 µs each, made by FlatMap."""

    def makes(call: int, base: float, batch: int, ids: Iterator[int]) -> list[EventLike]:
        numbers = range(call * windows, (call + 1) * windows)
        made = [
            datasets(f"{BATCH}::FlatMap", number, base + 40.0 * at, batch, ids)
            for at, number in enumerate(numbers)
        ]
        return [one for window in made for one in window]

    return batches(makes, 40.0 * windows, 120.0 * windows)


@pytest.mark.parametrize(("windows", "applies"), [(32, True), (8, False)])
def test_datasets_made_for_a_batch_are_counted(windows: int, applies: bool) -> None:
    found = analyze(windowed(windows))
    assert found.bottleneck is not None
    assert found.bottleneck.iterator == "FlatMap"
    assert found.bottleneck.datasets == windows
    gains = [one.gain_us or 0 for one in found.knobs if one.knob == "whole_batches"]
    assert len(gains) == applies
    assert all(0.5 < gain / found.bottleneck.wait_us <= 1 for gain in gains)


def filtered(keeps: int, *, is_mapped: bool = True) -> bytes:
    """In each call a filter asks eight times, and hands on ``keeps`` elements."""
    source, many = f"{BATCH}::Filter::{'Map' if is_mapped else 'Shuffle'}", 8 // keeps
    long = 400.0 / keeps

    def makes(_call: int, base: float, batch: int, ids: Iterator[int]) -> list[EventLike]:
        found: list[EventLike] = []
        for one in range(keeps):
            at, asks, each = base + long * one, next(ids), (long - 3) / many
            found.append((f"{BATCH}::Filter", at, long - 1, {"id": asks, "parent_id": batch}))
            found += [
                (source, at + 1 + each * made, each - 0.5, {"id": next(ids), "parent_id": asks})
                for made in range(many)
            ]
        return found

    return batches(makes, 400.0, 2000.0)


@pytest.mark.parametrize(("keeps", "kept_frac"), [(1, 0.125), (2, 0.25), (8, 1.0)])
def test_what_a_filter_throws_away_was_made_for_nothing(keeps: int, kept_frac: float) -> None:
    found = analyze(filtered(keeps))
    assert found.bottleneck is not None
    assert found.bottleneck.kept_frac == pytest.approx(kept_frac)
    gains = [one.gain_us or 0 for one in found.knobs if one.knob == "early_filter"]
    assert len(gains) == (kept_frac < 1)
    assert all(gain > 0.5 * found.bottleneck.wait_us for gain in gains)


def test_what_no_map_has_made_costs_nothing_to_throw_away() -> None:
    found = analyze(filtered(1, is_mapped=False))
    assert found.bottleneck is not None
    assert found.bottleneck.kept_frac == 1


def mapped(windows: int) -> bytes:
    """Windows beneath a map of 40 µs each, of which FlatMap has less than half."""

    def makes(call: int, base: float, batch: int, ids: Iterator[int]) -> list[EventLike]:
        found: list[EventLike] = []
        for window in range(windows):
            at, maps, number = base + 40.0 * window, next(ids), call * windows + window
            found.append((f"{BATCH}::Map", at, 39.0, {"id": maps, "parent_id": batch}))
            found += datasets(f"{BATCH}::Map::FlatMap", number, at + 22, maps, ids, 16.0)
        return found

    return batches(makes, 40.0 * windows, 120.0 * windows)


def test_datasets_below_a_map_that_is_waited_for_are_counted_too() -> None:
    found = analyze(mapped(32))
    assert found.bottleneck is not None
    assert found.bottleneck.iterator == "Map"
    assert (found.bottleneck.datasets, found.bottleneck.maker[-12:]) == (32, "Map::FlatMap")
    (knob,) = (one for one in found.knobs if one.knob == "whole_batches")
    assert knob.gain_us is not None
    # What the map itself takes stays.
    assert 0 < knob.gain_us < found.bottleneck.wait_us


def test_a_source_that_nothing_is_made_of_makes_no_datasets() -> None:
    found = analyze(prefetched())
    assert found.bottleneck is not None
    assert found.bottleneck.datasets == 0
