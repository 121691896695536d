"""Stacks of any sampler become slices of callers that samples have in common."""

from __future__ import annotations

import cProfile
import gzip
import json
import random
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.columns.space import Space
from stepscope.errors import FormatError, StepscopeError
from stepscope.formats import FORMATS
from stepscope.store import find, read_pieces
from stepscope.wire import write as wire
from tests.unit.formats.layout import lines
from tests.unit.formats.stacks.files import (
    COLLAPSED,
    PERF,
    PLACED,
    START_MS,
    evented,
    gecko,
    pprof,
    speedscope,
    tachyon,
    write_all,
)

PLANE = "/device:CUSTOM:Python samples"
MAIN, STEP, LOAD = "$work/train.py:3 main", "$work/train.py:12 step", "$work/data.py:7 load"


def opened(path: Path) -> Space:
    ((source,),) = (run.sources for run in find(path).runs)
    return FORMATS[source.format].open(read_pieces(str(path)), str(path))


def slices(space: Space) -> list[tuple[str, int, int]]:
    """Name, start after the first and length of each, in µs, of the only line."""
    ((key, events),) = lines(space).items()
    assert key[0] == PLANE
    first = min(one["start"] for one in events)
    return [(one["name"], (one["start"] - first) // 1000, one["length"] // 1000) for one in events]


@pytest.mark.parametrize("kind", ["speedscope", "collapsed", "gecko", "pprof", "tachyon"])
def test_every_sampler_gives_the_same_slices(tmp_path: Path, kind: str) -> None:
    path = write_all(tmp_path)[kind]
    ((source,),) = (run.sources for run in find(path).runs)
    assert source.format == kind
    found = slices(opened(path))
    # Totals are in the order of their stacks, samples in that of time.
    assert found == [(MAIN, 0, 40_000), (STEP, 0, 30_000), (LOAD, 30_000, 10_000)]


def test_a_folder_of_them_is_found(tmp_path: Path) -> None:
    paths = write_all(tmp_path)
    found = {source.format for run in find(tmp_path).runs for source in run.sources}
    assert found == set(paths)


def test_the_innermost_frames_are_a_flame(tmp_path: Path) -> None:
    session = stepscope.open(write_all(tmp_path)["speedscope"])
    assert session.available("trace_viewer") is None
    notes = session.overview_page().completeness.notes
    assert any("speedscope" in one for one in notes)
    assert "/home/me" not in str(session.run("trace_viewer").to_dict())


def test_calls_of_an_evented_profile_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.speedscope.json"
    path.write_text(json.dumps(evented()))
    assert slices(opened(path)) == [
        (MAIN, 0, 10),
        (STEP, 0, 5),
        (STEP, 5, 4),
        (LOAD, 6, 2),
    ]


def test_a_profile_of_rows_is_one_of_columns(tmp_path: Path) -> None:
    for name, value in (("a", gecko()), ("b", gecko(rows=True))):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    first, second = (opened(tmp_path / f"{name}.json") for name in "ab")
    assert slices(first) == slices(second)
    assert first.origin_ns == second.origin_ns == START_MS * 1e6


def test_a_thread_that_is_not_looked_at_has_no_slice(tmp_path: Path) -> None:
    value = gecko()
    value["threads"][0]["samples"]["time"] = [0.0, 10.0, 500.0, 510.0]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value))
    found = slices(opened(path))
    assert [one for one in found if one[0] == MAIN] == [(MAIN, 0, 20_000), (MAIN, 500_000, 20_000)]


@pytest.mark.parametrize("rows", [False, True])
def test_each_stack_keeps_its_time_where_samples_are_in_no_order(
    tmp_path: Path, rows: bool
) -> None:
    value = gecko(rows=rows)
    samples = value["threads"][0]["samples"]
    if rows:
        # The load of 30 ms is first; where a time should be there is none.
        samples["data"] = [[2, 30.0], [1, None], [1, 0.0], [2, "late"], [1, 20.0], [1, 10.0]]
    else:
        samples["stack"], samples["time"] = [2, 1, 1, 2, 1, 1], [30, None, 0, "late", 20, 10]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value))
    space = opened(path)
    assert slices(space) == [(MAIN, 0, 40_000), (STEP, 0, 30_000), (LOAD, 30_000, 10_000)]
    assert space.origin_ns == START_MS * 1e6
    assert "2 samples have no time and are left out." in space.warnings


def test_texts_of_pythons_own_sampler(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(PLACED)
    ((key, events),) = lines(opened(path)).items()
    assert key == (PLANE, "tid:34")
    assert [(one["name"], one["length"]) for one in events] == [
        (MAIN, 30_000_000),
        (STEP, 30_000_000),
    ]


def test_pythons_binary_profile_is_read_in_either_byte_order(tmp_path: Path) -> None:
    spaces = []
    for order in "<>":
        path = tmp_path / "a.bin"
        path.write_bytes(tachyon(order))
        spaces.append(lines(opened(path)))
    assert spaces[0] == spaces[1]
    ((_, name),) = spaces[0]
    assert name == "thread 34"
    # Sampling began 5 s after the machine did.
    assert min(one["start"] for one in spaces[0][PLANE, name]) == 5_000_000_000


def test_a_cut_binary_profile_gives_the_samples_it_has(tmp_path: Path) -> None:
    data = tachyon()
    texts_at = int.from_bytes(data[40:48], "little")
    # The last sample is gone, and the tables come earlier.
    lost = 17
    shorter = bytearray(data[: texts_at - lost] + data[texts_at:])
    for at in (40, 48):
        place = int.from_bytes(data[at : at + 8], "little") - lost
        shorter[at : at + 8] = place.to_bytes(8, "little")
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(shorter))
    space = opened(path)
    assert slices(space) == [(MAIN, 0, 30_000), (STEP, 0, 30_000)]
    path.write_bytes(data[:texts_at] + data[texts_at + 1 :])
    assert opened(path)


@pytest.mark.parametrize(
    ("at", "value", "reason"), [(4, 9, "its version is 9"), (56, 1, "Zstandard")]
)
def test_binary_profiles_that_are_not_read_say_how_to_convert_them(
    at: int, value: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepscope.formats.stacks.tachyon.find_spec", lambda _: None)
    data = bytearray(tachyon())
    data[at] = value
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(data))
    with pytest.raises(FormatError, match=reason) as error:
        opened(path)
    assert "profiling.sampling replay" in error.value.hint


@pytest.mark.skipif(find_spec("compression") is None, reason="needs Python 3.14's Zstandard")
def test_compressed_samples_are_those_that_are_not(tmp_path: Path) -> None:
    data = tachyon(compression=1)
    begin, texts_at = 64, int.from_bytes(data[40:48], "little")
    packed = import_module("compression.zstd").compress(data[begin:texts_at])
    shorter = bytearray(data[:begin] + packed + data[texts_at:])
    for at in (40, 48):
        place = int.from_bytes(data[at : at + 8], "little") + begin + len(packed) - texts_at
        shorter[at : at + 8] = place.to_bytes(8, "little")
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(shorter))
    assert slices(opened(path)) == [(MAIN, 0, 40_000), (STEP, 0, 30_000), (LOAD, 30_000, 10_000)]


def test_perf_knows_python_and_native_frames(tmp_path: Path) -> None:
    path = write_all(tmp_path)["perf-script"]
    ((key, events),) = lines(opened(path)).items()
    assert key == (PLANE, "python")
    assert [(one["name"], one["length"] // 1000) for one in events] == [
        ("$work/train.py:0 main", 30_000),
        ("$work/train.py:0 step", 20_000),
        ("sgemm_kernel", 10_000),
    ]
    assert events[0]["start"] == 100 * 10**9


def test_stacks_without_python_are_no_pythons(tmp_path: Path) -> None:
    path = tmp_path / "a.folded"
    path.write_text("main;work 2\nmain;wait 1\n")
    ((key, _),) = lines(opened(path)).items()
    assert key[0] == "/device:CUSTOM:Stack samples"


@pytest.mark.parametrize(
    "text",
    ["", "just words\n", "a;b\n", "12\n", "{}", '{"profiles": [], "shared": {}}', "a b c: d\n"],
)
def test_other_texts_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text)
    with pytest.raises(StepscopeError):
        opened(path)


def test_deep_stacks_are_read_to_a_depth(tmp_path: Path) -> None:
    path = tmp_path / "a.folded"
    path.write_text("a;b 1\n" + ";".join(f"f{n}" for n in range(100_000)) + " 5\n")
    assert len(opened(path).events) == 2 + 1024


ODD: list[Any] = [
    None, "x", -1, 2**70, 10**400, 1.5, 1e308, float("nan"), float("inf"), [], {}, True, [[[]]],
    [-1],
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    pairs = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(one for key, inner in pairs for one in places(inner, (*path, key)))]


@pytest.mark.parametrize("build", [speedscope, evented, gecko, lambda: gecko(rows=True)])
@pytest.mark.parametrize("odd", ODD, ids=lambda one: repr(one)[:20])
def test_any_value_may_be_anything(build: Any, odd: Any) -> None:
    kind = "gecko" if "meta" in build() else "speedscope"
    for path in places(build())[1:]:
        value = inner = build()
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = odd
        try:
            FORMATS[kind].open(_Bytes(json.dumps(value).encode()), "a")  # type: ignore[arg-type]  # only read in order
        except FormatError as error:
            assert error.why


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("speedscope", json.dumps(speedscope()).encode()),
        ("gecko", json.dumps(gecko()).encode()),
        ("collapsed", COLLAPSED.encode()),
        ("perf-script", PERF.encode()),
        ("pprof", gzip.decompress(pprof())),
        ("tachyon", tachyon()),
        ("tachyon", tachyon(">")),
    ],
)
def test_broken_bytes_open_or_say_why_not(kind: str, data: bytes) -> None:
    rng = random.Random(7)
    for _ in range(500):
        broken = bytearray(data)
        for _ in range(rng.randrange(1, 6)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        cut = rng.randrange(1, len(broken)) if rng.random() < 0.5 else len(broken)
        try:
            FORMATS[kind].open(_Bytes(bytes(broken[:cut])), "a")  # type: ignore[arg-type]  # only read in order
        except FormatError as error:
            assert error.why


class _Bytes:
    """Bytes in two pieces."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Any:
        half = len(self._data) // 2
        yield self._data[:half]
        yield self._data[half:]


def test_a_pprof_profile_may_begin_with_when_it_was_taken(tmp_path: Path) -> None:
    said = wire.number(9, 1_700_000_000_000_000_000) + wire.number(10, 40_000_000)
    path = tmp_path / "memory.prof"
    path.write_bytes(gzip.compress(said + wire.number(12, 10) + gzip.decompress(pprof())))
    expected = tmp_path / "plain" / "a.pprof"
    expected.parent.mkdir()
    expected.write_bytes(pprof())
    assert lines(opened(path)) == lines(opened(expected))


def test_what_cprofile_wrote_is_still_another_profilers(tmp_path: Path) -> None:
    path = tmp_path / "train.prof"
    cProfile.runctx("sum(range(3))", {}, {}, str(path))
    with pytest.raises(StepscopeError, match="cProfile"):
        find(path)


@pytest.mark.parametrize(
    ("count", "length_ns"), [(12, 10_000_000), (20_000_000, 1_000), (10**12, 1)], ids=str
)
def test_samples_without_a_unit_are_so_short_that_they_fit_a_day(
    tmp_path: Path, count: int, length_ns: int
) -> None:
    path = tmp_path / "a.folded"
    path.write_text(f"main;step {count}\nmain;load 3\n")
    space = opened(path)
    whole = max(event["length"] for events in lines(space).values() for event in events)
    assert whole == (count + 3) * length_ns
    said = " ".join(stepscope.open(path).overview_page().completeness.notes)
    assert {10_000_000: "10 ms", 1_000: "1 µs", 1: "1 ns"}[length_ns] in said
    profile = speedscope()
    profile["profiles"] = [
        {
            "type": "sampled",
            "name": "a",
            "unit": "none",
            "startValue": 0,
            "endValue": count + 3,
            "samples": [[0], [0, 1]],
            "weights": [3, count],
        }
    ]
    path = tmp_path / "a.speedscope.json"
    path.write_text(json.dumps(profile))
    space = opened(path)
    whole = max(event["length"] for events in lines(space).values() for event in events)
    assert whole == (count + 3) * length_ns


def test_what_firefoxs_own_tools_saved_has_its_profile_inside(tmp_path: Path) -> None:
    inside = {"label": "a", "duration": 40.0, "markers": [], "profile": gecko(rows=True)}
    for name, value in (("a", inside), ("b", gecko(rows=True))):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    assert slices(opened(tmp_path / "a.json")) == slices(opened(tmp_path / "b.json"))


def test_times_of_counts_are_said_to_be_assumed(tmp_path: Path) -> None:
    """As py-spy writes them, with samples of threads that have no stack."""
    path = tmp_path / "a.collapsed"
    path.write_text(" 2\n" + 9 * "main (a.py:1);load (a.py:3) 12\n")
    (warning,) = opened(path).warnings
    assert "counts of samples, and no times: a sample is shown as 10 ms" in warning


def test_stacks_that_pytorch_exports_have_lines_and_microseconds(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(9 * "train.py(3):_main;train.py(12):_step;aten::linear 500\n")
    space = opened(path)
    assert not space.warnings
    found = [(one["name"], one["length"]) for one in next(iter(lines(space).values()))]
    assert found[:2] == [("$train.py:3 main", 4_500_000), ("$train.py:12 step", 4_500_000)]


def test_remarks_and_few_other_lines_do_not_hide_collapsed_stacks(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("# of a run\n// of two\n" + 5 * "main;step 1\n" + "no stack\n")
    space = opened(path)
    assert [one["length"] for one in next(iter(lines(space).values()))] == [50_000_000] * 2
    assert any("3 lines are not stacks" in one for one in space.warnings)
    path.write_text(4 * "main;step 1\n" + "no stack\n")
    assert not FORMATS["collapsed"].starts(path.read_bytes())
