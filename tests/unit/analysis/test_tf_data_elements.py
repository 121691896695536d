"""Elements of a pipeline: datasets that are made of them, and those that a filter throws away."""

from __future__ import annotations

from typing import Any

import pytest

from tests.profiles import host as host_plane
from tests.profiles import line, space
from tests.profiles.model import EventLike
from tests.unit.analysis.test_tf_data_bottleneck_analysis import PREFETCH, ROOT, analyze, prefetched


def windowed(windows: int) -> bytes:
    """Calls that wait a third of their period for windows of 40 µs each, made by FlatMap."""
    main: list[EventLike] = []
    pool: list[EventLike] = []
    flat, ids = f"{PREFETCH}::Batch::FlatMap", iter(range(10, 10_000))
    for call in range(4):
        period, length = 120.0 * windows, 40.0 * windows
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
            (f"{PREFETCH}::Batch", base, length, {"id": batch, "parent_id": ahead}),
        ]
        for window in range(windows):
            at, joins = base + 40.0 * window, next(ids)
            of_window = f"{flat}[{call * windows + window}]::BatchV2"
            pool += [
                (flat, at, 39.0, {"id": joins, "parent_id": batch}),
                (f"{flat}::Window", at + 1, 4.0, {"id": next(ids), "parent_id": joins}),
                (of_window, at + 20, 5.0, {"id": next(ids), "parent_id": joins}),
                (of_window, at + 30, 5.0, {"id": next(ids), "parent_id": joins}),
            ]
    threads = line("python", *main), line("tf_data_iterator_resource/1", *pool)
    return space(host_plane(*threads))


@pytest.mark.parametrize(("windows", "applies"), [(32, True), (8, False)])
def test_datasets_made_for_a_batch_are_counted(windows: int, applies: bool) -> None:
    found = analyze(windowed(windows))
    assert found.bottleneck is not None
    assert found.bottleneck.iterator == "FlatMap"
    assert found.bottleneck.datasets == windows
    (knob,) = (one for one in found.knobs if one.knob == "whole_batches")
    assert knob.applies == applies
    assert knob.gain_us is not None
    assert knob.gain_us <= found.bottleneck.wait_us
    assert (knob.gain_us > 0.5 * found.bottleneck.wait_us) == applies


def filtered(keeps: int, *, is_mapped: bool = True) -> bytes:
    """In each of three calls a filter asks eight times, and hands on ``keeps`` elements."""
    main: list[Any] = []
    pool: list[Any] = []
    ids = iter(range(1, 1000))
    source = f"{PREFETCH}::Batch::Filter::{'Map' if is_mapped else 'Shuffle'}"
    for call in range(3):
        base, length = call * 2000.0, 400.0
        root, ahead, batch = next(ids), next(ids), next(ids)
        main += [
            ("IteratorGetNext", base, length + 20),
            (ROOT, base, length + 20, {"id": root}),
            (PREFETCH, base, length + 10, {"id": ahead, "parent_id": root}),
            ("PrefetchConsume", base + length + 5, 1.0, {"element_id": call}),
        ]
        pool += [
            ("PrefetchProduce", base, length, {"element_id": call}),
            (f"{PREFETCH}::Batch", base, length, {"id": batch, "parent_id": ahead}),
        ]
        for one in range(keeps):
            at, asks, many = base + 400.0 / keeps * one, next(ids), 8 // keeps
            long = 400.0 / keeps - 1
            pool += [(f"{PREFETCH}::Batch::Filter", at, long, {"id": asks, "parent_id": batch})]
            each = (long - 2) / many
            pool += [
                (source, at + 1 + each * made, each - 0.5, {"id": next(ids), "parent_id": asks})
                for made in range(many)
            ]
    threads = line("python", *main), line("tf_data_iterator_resource/1", *pool)
    return space(host_plane(*threads))


@pytest.mark.parametrize(("keeps", "kept_frac"), [(1, 0.125), (2, 0.25), (8, 1.0)])
def test_what_a_filter_throws_away_was_made_for_nothing(keeps: int, kept_frac: float) -> None:
    found = analyze(filtered(keeps))
    assert found.bottleneck is not None
    assert found.bottleneck.kept_frac == pytest.approx(kept_frac)
    (knob,) = (one for one in found.knobs if one.knob == "early_filter")
    assert knob.applies == (kept_frac < 1)
    assert knob.gain_us is not None
    assert (knob.gain_us > 0.5 * found.bottleneck.wait_us) == (kept_frac < 1)


def test_what_no_map_has_made_costs_nothing_to_throw_away() -> None:
    found = analyze(filtered(1, is_mapped=False))
    assert found.bottleneck is not None
    assert found.bottleneck.kept_frac == 1


def mapped(windows: int) -> bytes:
    """The same beneath a map of 40 µs a window, of which FlatMap has less than half."""
    main: list[Any] = []
    pool: list[Any] = []
    above, ids = f"{PREFETCH}::Batch::Map", iter(range(10, 10_000))
    flat = f"{above}::FlatMap"
    for call in range(4):
        base, length = 120.0 * windows * call + 300, 40.0 * windows
        root, ahead, batch = next(ids), next(ids), next(ids)
        main += [
            ("IteratorGetNext", base, length + 20),
            (ROOT, base, length + 20, {"id": root}),
            (PREFETCH, base, length + 10, {"id": ahead, "parent_id": root}),
            ("PrefetchConsume", base + length + 5, 1.0, {"element_id": call}),
        ]
        pool += [
            ("PrefetchProduce", base, length, {"element_id": call}),
            (f"{PREFETCH}::Batch", base, length, {"id": batch, "parent_id": ahead}),
        ]
        for window in range(windows):
            at, maps, joins = base + 40.0 * window, next(ids), next(ids)
            of_window = f"{flat}[{call * windows + window}]::BatchV2"
            pool += [
                (above, at, 39.0, {"id": maps, "parent_id": batch}),
                (flat, at + 22, 16.0, {"id": joins, "parent_id": maps}),
                (f"{flat}::Window", at + 23, 2.0, {"id": next(ids), "parent_id": joins}),
                (of_window, at + 26, 4.0, {"id": next(ids), "parent_id": joins}),
                (of_window, at + 32, 4.0, {"id": next(ids), "parent_id": joins}),
            ]
    threads = line("python", *main), line("tf_data_iterator_resource/1", *pool)
    return space(host_plane(*threads))


def test_datasets_below_a_map_that_is_waited_for_are_counted_too() -> None:
    found = analyze(mapped(32))
    assert found.bottleneck is not None
    assert found.bottleneck.iterator == "Map"
    assert (found.bottleneck.datasets, found.bottleneck.maker[-12:]) == (32, "Map::FlatMap")
    (knob,) = (one for one in found.knobs if one.knob == "whole_batches")
    assert knob.applies
    assert knob.gain_us is not None
    # What the map itself takes stays.
    assert 0 < knob.gain_us < found.bottleneck.wait_us


def test_a_source_that_nothing_is_made_of_makes_no_datasets() -> None:
    found = analyze(prefetched())
    assert found.bottleneck is not None
    assert found.bottleneck.datasets == 0
