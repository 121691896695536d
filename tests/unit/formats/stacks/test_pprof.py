"""Profiles of pprof, message by message: what is shown, in which unit, and of which frames."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stepscope.columns.space import Space
from stepscope.errors import FormatError
from stepscope.formats import FORMATS
from stepscope.formats.stacks import pprof_fields
from stepscope.formats.stacks.samples import DEEPEST
from stepscope.schema import names
from stepscope.wire import write as wire
from tests.unit.formats.layout import lines

CPU, HEAP = ("cpu", "nanoseconds"), ("space", "bytes")


class Made:
    """A profile on the way to its bytes."""

    def __init__(self, *types: tuple[str, str]) -> None:
        self.texts = [""]
        self.parts = [self.pair(1, *one) for one in types]

    def text(self, text: str) -> int:
        """The number of a text."""
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)

    def pair(self, field: int, kind: str, unit: str) -> bytes:
        """A type of values."""
        inner = wire.number(1, self.text(kind)) + wire.number(2, self.text(unit))
        return wire.blob(field, inner, always=True)

    def function(self, number: int, name: str, file: str = "") -> None:
        """A function."""
        inner = wire.number(1, number) + wire.number(2, self.text(name))
        self.parts.append(wire.blob(5, inner + wire.number(4, self.text(file) if file else 0)))

    def location(self, number: int, *calls: tuple[int, int], more: bytes = b"") -> None:
        """A location: functions and lines, innermost first."""
        inner = b"".join(
            wire.blob(4, wire.number(1, function) + wire.number(2, line))
            for function, line in calls
        )
        self.parts.append(wire.blob(4, wire.number(1, number) + inner + more))

    def sample(self, locations: list[int], *values: int, packed: bool = True) -> None:
        """A sample: locations innermost first."""
        columns = ((1, locations), (2, values))
        if packed:
            body = b"".join(wire.blob(at, b"".join(map(wire.varint, one))) for at, one in columns)
        else:
            body = b"".join(wire.number(at, n, always=True) for at, one in columns for n in one)
        self.parts.append(wire.blob(2, body))

    def data(self, *more: bytes) -> bytes:
        """The profile; texts come last, as most writers have them."""
        texts = (wire.blob(6, one.encode(), always=True) for one in self.texts)
        return b"".join([*self.parts, *more, *texts])


def made(*types: tuple[str, str]) -> Made:
    """``main`` at location 1 calls ``step`` at 2, in which ``square`` at 3 is inlined."""
    found = Made(*types)
    for number, name in enumerate(("main", "step", "square"), 1):
        found.function(number, name, "m.go")
    found.location(1, (1, 3))
    found.location(2, (2, 12))
    found.location(3, (3, 7), (2, 13))
    return found


def opened(data: bytes) -> Space:
    def pieces() -> Iterator[bytes]:
        yield data

    return FORMATS["pprof"].open(pieces(), "a.pprof")  # type: ignore[arg-type]  # only read in order


def slices(data: bytes) -> list[tuple[str, int]]:
    """Name and length in ns of each slice, by time, callers first."""
    ((_, events),) = lines(opened(data)).items()
    return [(one["name"], one["length"]) for one in events]


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "one-by-one"])
@pytest.mark.parametrize("at_once", [1 << 13, 1])
def test_an_inlined_call_is_below_what_it_was_inlined_into(
    packed: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepscope.formats.stacks.pprof.AT_ONCE", at_once)
    monkeypatch.setattr(pprof_fields, "AT_ONCE", at_once)
    profile = made(CPU)
    profile.sample([3, 1], 40, packed=packed)
    profile.sample([2, 1], 20, packed=packed)
    profile.sample([3, 1], 5, packed=packed)
    assert slices(profile.data()) == [("main", 65), ("step", 45), ("square", 45), ("step", 20)]


def test_texts_locations_and_samples_come_in_any_order() -> None:
    profile = made(CPU)
    profile.sample([3, 1], 40)
    data = profile.data()
    first = [wire.blob(6, one.encode(), always=True) for one in profile.texts]
    assert slices(b"".join([*first, *reversed(profile.parts)])) == slices(data)


@pytest.mark.parametrize(
    ("types", "more", "expected"),
    [
        ((CPU, ("samples", "count")), (), 7),
        ((("a", "count"), ("b", "count")), ("a",), 7 * 10_000_000),
        ((CPU, HEAP), ("unknown",), 7),
        ((("wall", "us"), ("samples", "count")), (), 7_000),
        ((("wall", "Milliseconds"),), (), 7_000_000),
        ((("wall", "s"),), (), 7 * 10**9),
    ],
    ids=str,
)
def test_what_the_profile_names_is_shown_else_time_else_the_last(
    types: tuple[tuple[str, str], ...], more: tuple[str, ...], expected: int
) -> None:
    profile = made(*types)
    profile.sample([1], 7, 9)
    named = wire.number(14, profile.text(more[0])) if more else b""
    assert slices(profile.data(named)) == [("main", expected)]


@pytest.mark.parametrize("types", [(("samples", "count"), HEAP), (CPU, HEAP)], ids=str)
def test_bytes_are_allocations_and_no_time(types: tuple[tuple[str, str], ...]) -> None:
    profile = made(*types)
    profile.sample([1], 7, 9)
    profile.sample([3, 1], 7, 40)
    profile.sample([3, 1], 7, 50)
    space = opened(profile.data(wire.number(14, profile.text("space"))))
    assert not space.length_ps.any()
    ((_, events),) = lines(space).items()
    held = [(one[names.TF_OP], one[names.REQUESTED_BYTES]) for one in events]
    assert held == [("m.go:7 square", 90), ("m.go:3 main", 9)]
    assert events[0][names.SOURCE_STACK] == "m.go:7 square\nm.go:13 step\nm.go:3 main"
    assert events[-1][names.BYTES_ALLOCATED] == 99


def test_samples_of_a_known_period_last_that_long() -> None:
    profile = made(("samples", "count"))
    profile.sample([1], 3)
    assert slices(profile.data(profile.pair(11, *CPU), wire.number(12, 5_000))) == [
        ("main", 15_000)
    ]


def test_a_location_without_a_function_is_its_address_in_its_binary() -> None:
    profile = made(CPU)
    binary = wire.number(1, 1) + wire.number(5, profile.text("/home/me/bin/train"))
    profile.parts.append(wire.blob(3, binary))
    profile.location(4, more=wire.number(2, 1) + wire.number(3, 0xBEEF))
    profile.location(5, more=wire.number(3, 0xFFFF_FFFF_0000_0000))
    profile.location(1 << 63)
    for place in (4, 5, 1 << 63):
        profile.sample([place, 1], 1)
    found = slices(profile.data())
    assert found[0] == ("main", 3)
    assert {name for name, _ in found[1:]} == {
        "0xbeef (train)",
        "0xffffffff00000000",
        f"location {1 << 63}",
    }


@pytest.mark.parametrize("ids", [(1, 2), (10**12, 5)], ids=["few", "far"])
def test_of_two_places_of_one_id_the_last_counts_and_unknown_ones_are_left_out(
    ids: tuple[int, int],
) -> None:
    profile = Made(CPU)
    profile.function(1, "old")
    profile.function(1, "new")
    profile.function(2, "leaf")
    first, second = ids
    profile.location(first, (2, 0))
    profile.location(first, (1, 0))
    profile.location(second, (2, 0))
    profile.sample([second, 77, first], 4)
    assert slices(profile.data()) == [("new", 4), ("leaf", 4)]


def test_what_two_profiles_differ_by_is_told() -> None:
    profile = made(CPU)
    profile.sample([1], 7)
    profile.sample([2, 1], -3)
    space = opened(profile.data())
    assert slices(profile.data()) == [("main", 7)]
    assert any("1 samples count below 0" in one for one in space.warnings)


def test_a_broken_sample_costs_that_sample_and_is_told() -> None:
    profile = made(CPU)
    profile.sample([1], 7)
    profile.parts.append(wire.blob(2, wire.blob(1, b"\x01") + wire.blob(2, b"\xff")))
    profile.sample([2, 1], 2)
    space = opened(profile.data())
    assert slices(profile.data()) == [("main", 9), ("step", 2)]
    assert any("broken" in one for one in space.warnings)


def test_a_profile_that_ends_early_keeps_what_came_before_and_says_so() -> None:
    profile = made(CPU)
    texts = b"".join(wire.blob(6, one.encode(), always=True) for one in profile.texts)
    for _ in range(5):
        profile.sample([1], 7)
    space = opened((texts + b"".join(profile.parts))[:-3])
    ((_, (event,)),) = lines(space).items()
    assert event["length"] == 4 * 7
    assert any("broken" in one for one in space.warnings)


def test_places_that_claim_a_million_calls_are_read_as_deep_as_stacks_are() -> None:
    profile = made(CPU)
    profile.location(9, *[(1, 0)] * 50_000)
    for _ in range(20):
        profile.sample([9] * 5_000, 1)
    found = slices(profile.data())
    assert found == [("main", 20)] * DEEPEST


def test_amounts_that_no_time_has_are_the_longest_there_is() -> None:
    profile = made(("wall", "seconds"))
    profile.sample([1], (1 << 63) - 1)
    assert slices(profile.data()) == [("main", 1 << 51)]


def test_a_profile_of_samples_without_places_is_none() -> None:
    profile = made(CPU)
    profile.sample([], 7)
    profile.sample([1])
    with pytest.raises(FormatError, match="no samples"):
        opened(profile.data())


@pytest.mark.parametrize(
    "first", [3, 4, 5, 6, 9], ids=["mapping", "location", "function", "text", "time"]
)
def test_a_profile_is_known_whichever_field_comes_first(first: int) -> None:
    profile = made(CPU)
    binary = wire.number(1, 1) + wire.number(2, 1 << 40) + wire.number(5, profile.text("/bin/a"))
    profile.parts.append(wire.blob(3, binary))
    profile.sample([1], 7)
    fields = {
        3: profile.parts[-2],
        4: profile.parts[4],
        5: profile.parts[1],
        6: wire.blob(6, b"", always=True) + profile.parts[1],
        9: wire.number(9, 1 << 60) + profile.parts[-2],
    }
    assert FORMATS["pprof"].starts(fields[first] + profile.data())


@pytest.mark.parametrize(
    "data",
    [
        wire.blob(3, b"a warning of an XSpace") + wire.blob(1, wire.text(2, "/host:CPU")),
        wire.blob(4, b"host") + wire.blob(1, wire.text(2, "/host:CPU")),
        wire.blob(6, b"text") * 4,
        wire.blob(5, wire.number(2, 1)) * 4,
        b"* a list\n* of marks\n",
        b"",
    ],
)
def test_what_only_begins_alike_is_no_profile(data: bytes) -> None:
    assert not FORMATS["pprof"].starts(data)
