"""Written planes as columns, against what decoding their bytes gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.formats.xspace import decode
from stepscope.formats.xspace.plane_writer import PlaneWriter, Stat, Value
from stepscope.formats.xspace.written import space_of

TEXTS = st.sampled_from(["", "a", "b", "\ud800", "名前", "x" * 300])
VALUES = st.one_of(
    st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False), st.sampled_from(["a", "text"])
)
TIMES = st.one_of(st.integers(0, 100), st.integers(1_700_000_000 * 10**9, 1_700_000_001 * 10**9))


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Where two results of decoding differ; where their strings lie is left out."""
    if dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            if field.name != "buffer":
                below = getattr(one, field.name), getattr(other, field.name)
                yield from differences(*below, f"{path}.{field.name}")
    elif isinstance(one, np.ndarray):
        if one.dtype != other.dtype or one.tolist() != other.tolist():
            yield f"{path}: {one.dtype} {one.tolist()} {other.dtype} {other.tolist()}"
    elif one != other:
        yield f"{path}: {one!r} {other!r}"


@st.composite
def planes(draw: st.DrawFn) -> list[PlaneWriter]:
    found = []
    for _ in range(draw(st.integers(0, 3))):
        plane = PlaneWriter(draw(TEXTS), id=draw(st.integers(0, 5)))
        shared: dict[str, Value] = draw(st.dictionaries(TEXTS, VALUES, max_size=2))
        names = [plane.name("n", stats=shared), plane.name(draw(TEXTS), display=draw(TEXTS))]
        for key, value in draw(st.dictionaries(TEXTS, VALUES, max_size=2)).items():
            plane.stat(key, value)
        for _ in range(draw(st.integers(0, 3))):
            _line(draw, plane, names)
        found.append(plane)
    return found


def _line(draw: st.DrawFn, plane: PlaneWriter, names: list[int]) -> None:
    count = draw(st.integers(0, 5))
    some = st.lists(st.integers(0, max(count - 1, 0)), max_size=count, unique=True)
    stats = []
    for _ in range(draw(st.integers(0, 3))):
        rows = np.asarray(draw(some), np.int64)
        kind = draw(st.sampled_from([np.int64, np.uint64, np.float64, str]))
        values = (
            plane.texts(["t", "u"][row % 2] for row in rows)
            if kind is str
            else np.asarray([row * 3 for row in rows], kind)
        )
        stats.append(Stat(draw(TEXTS), values, rows, is_text=kind is str))
    plane.line(
        draw(st.integers(-5, 5)),
        draw(TEXTS),
        metadata=np.asarray(draw(st.lists(st.sampled_from(names), min_size=count, max_size=count))),
        start_ns=np.asarray(draw(st.lists(TIMES, min_size=count, max_size=count)), np.int64),
        duration_ns=np.arange(count),
        stats=stats,
        display_name=draw(TEXTS),
    )


@given(planes())
def test_columns_are_those_of_the_bytes(written: list[PlaneWriter]) -> None:
    if not written:
        assert len(space_of([]).events) == 0
        return
    decoded = decode(b"".join(plane.xspace() for plane in written))
    assert list(differences(decoded, space_of(written))) == []
    assert all(not plane.lines for plane in written), "events are not kept twice"


def test_warnings_are_told() -> None:
    assert space_of([PlaneWriter("p")], warnings=["two events lost"]).warnings == (
        "two events lost",
    )


def test_an_event_of_a_name_that_its_plane_lacks_is_refused() -> None:
    plane = PlaneWriter("p")
    plane.line(1, "t", metadata=np.asarray([1]), start_ns=np.asarray([5]))
    with pytest.raises(ValueError, match="'t' has events of names that its plane lacks"):
        space_of([plane])
