"""Kineto's JSON says the same however it is laid out, and what it can when it is broken."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stepscope.errors import DecodeError
from stepscope.formats.kineto.open_trace import open_trace, warnings
from stepscope.formats.kineto.planes import to_xspace
from stepscope.formats.kineto.reading import scan as scanning
from stepscope.formats.kineto.reading.read import read_pieces
from stepscope.formats.kineto.reading.scan import scan
from stepscope.formats.kineto.reading.trace import Trace
from stepscope.formats.kineto.steps import StepCount
from stepscope.kernels import core
from tests.kernels import examples
from tests.unit.formats.kineto.layout import BASE_NS, PID, allocation, arrow, lines, text, x

Event = dict[str, Any]


def program(seed: int = 0) -> list[Event]:
    """Two steps of a program on a GPU, with one of every kind of event."""
    rng = random.Random(seed)
    events: list[Event] = []
    for step in range(2):
        at = 1000.0 * step
        events.append(x("user_annotation", f"ProfilerStep#{step}", at, 900.0))
        for op in range(6):
            start, number = at + 10 + 100 * op, 1 + 10 * step + op
            events += [
                x("cpu_op", f"aten::op{op}", start, 80, External_id=number,
                  Input_Dims=[[rng.randrange(9), 4], []], Sequence_number=number),
                x("cuda_runtime", "cudaLaunchKernel", start + 5, 4, correlation=number, cbid=211),
                x("kernel", f"void gemm<{op}>(float*)", start + 20, 33.123, 0, 7, device=0,
                  stream=7, correlation=number, grid=[2, 1, 1], block=[128, 1, 1],
                  registers_per_thread=32, shared_memory=0),
                allocation(start + 30, 512, 512 * (op + 1), addr=64 * number),
            ]  # fmt: skip
        events += [
            x("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 700, 5, 0, 7, device=0,
              stream=7, correlation=99 + step, bytes=4096),
            x("new_category", "what is this?", at + 710, 5, what="it"),
            x("python_function", "train.py(3): step", at + 1, 890.0, Python_id=1),
            arrow("s", step, at + 10), arrow("f", step, at + 110),
            {"ph": "C", "cat": "counters", "name": "power", "pid": 0, "tid": 0, "ts": at,
             "args": {"W": 250.5}},
        ]  # fmt: skip
    name = {"name": f"thread {PID} (main)"}
    events.append({"ph": "M", "name": "thread_name", "pid": PID, "tid": PID, "args": name})
    return events


def parts(data: bytes, size: int) -> Iterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


def table(data: str | bytes, size: int = 1 << 20) -> Any:
    """Everything a trace says, by plane and line."""
    raw = data.encode() if isinstance(data, str) else data
    return lines(to_xspace(read_pieces(parts(raw, size)), count=StepCount())[0])


def whole(events: list[Event]) -> dict[str, Any]:
    return {"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS, "traceEvents": events}


def shuffled(value: Any, rng: random.Random) -> Any:
    """The same JSON with the keys of every object in another order."""
    if isinstance(value, dict):
        items = [(key, shuffled(one, rng)) for key, one in value.items()]
        rng.shuffle(items)
        return dict(items)
    return [shuffled(one, rng) for one in value] if isinstance(value, list) else value


def mixed(events: list[Event], rng: random.Random) -> list[Event]:
    return rng.sample(events, len(events))


LAYOUTS: dict[str, Callable[[list[Event], random.Random], str]] = {
    "one line": lambda events, _: json.dumps(whole(events)),
    "no blanks": lambda events, _: json.dumps(whole(events), separators=(",", ":")),
    "indent 1": lambda events, _: json.dumps(whole(events), indent=1),
    "indent 4": lambda events, _: json.dumps(whole(events), indent=4),
    "tabs": lambda events, _: json.dumps(whole(events), indent="\t"),
    "sorted keys": lambda events, _: json.dumps(whole(events), sort_keys=True),
    "shuffled keys": lambda events, rng: json.dumps(shuffled(whole(events), rng)),
    "shuffled events": lambda events, rng: json.dumps(whole(mixed(events, rng))),
    "base last": lambda events, _: json.dumps(
        {"traceEvents": events, "baseTimeNanoseconds": BASE_NS}
    ),
    "one event a line": lambda events, _: (
        f'{{"baseTimeNanoseconds": {BASE_NS}, "traceEvents": [\n'
        + ",\n".join(map(json.dumps, events))
        + "\n]}"
    ),
    "Windows' lines": lambda events, _: json.dumps(whole(events), indent=2).replace("\n", "\r\n"),
    "numbers as texts": lambda events, _: json.dumps(
        whole([{**one, "pid": str(one["pid"]), "tid": str(one["tid"])} for one in events])
    ),
    "a byte order mark": lambda events, _: "\ufeff" + json.dumps(whole(events)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_tables(layout: str) -> None:
    events, rng = program(), random.Random(layout)
    wanted = table(text(events))
    assert len(wanted) == 5
    assert table(LAYOUTS[layout](events, rng)) == wanted


@settings(max_examples=examples(30))
@example(1, "a byte order mark")
@example(2, "a byte order mark")
@given(st.integers(1, 3000), st.sampled_from(sorted(LAYOUTS)))
def test_where_pieces_end_makes_no_difference(size: int, layout: str) -> None:
    events = program()[:20]
    data = LAYOUTS[layout](events, random.Random(1))
    wanted = table(data)
    with patch.object(scanning, "_PIECE_BYTES", size):  # shorter pieces are joined
        assert table(data, size) == wanted


@pytest.mark.parametrize("layout", ["one line", "indent 1", "base last"])
def test_what_is_cut_opens_up_to_the_cut(layout: str) -> None:
    data = LAYOUTS[layout](program(), random.Random(0)).encode()
    full = _events(read_pieces([data]))
    seen = 0
    for percent in range(1, 100):
        cut = data[: len(data) * percent // 100]
        trace = read_pieces([cut])
        found = _events(trace)
        assert found == full[: len(found)] or set(found) <= set(full)
        assert len(found) >= seen
        assert trace.damage.is_cut or len(found) == len(full)
        assert trace.lost == 0
        seen = len(found)
    assert seen > 0.9 * len(full)
    damage = open_trace([data[: len(data) // 2]]).damage
    assert damage is not None and "ends inside" in damage.reason


def _events(trace: Trace) -> list[tuple[str, int]]:
    """Names and relative times; the base may be after the cut."""
    base = int(trace.head.get("baseTimeNanoseconds", 0))
    names = [trace.names[code] for code in trace.slices["name"].tolist()]
    return list(zip(names, (trace.slices["start_ns"] - base).tolist(), strict=True))


BROKEN: dict[str, tuple[str, str, str]] = {
    # what in the text, what instead, a word of the warning
    "a quote in a name": ('"aten::op3"', '"aten::"op3""', "not escaped"),
    "a name of quoted words": ('"aten::op3"', '"f("a", "b")"', "not escaped"),
    "a path that ends in a backslash": ('"aten::op3"', '"C:\\dir\\"', "not escaped"),
    "raw backslashes": ('"aten::op3"', '"C:\\path\\qux"', "escape nothing"),
    "a raw line end": ('"aten::op3"', '"aten\n::op3"', "control characters"),
    "inf": ('"W": 250.5', '"W": inf', "does not know"),
    "nan": ('"bytes": 4096', '"bytes": nan', "does not know"),
    "N/A": ('"bytes": 4096', '"bytes": N/A', "does not know"),
    "None": ('"bytes": 4096', '"bytes": None', "does not know"),
    "no time": ('"ts": 1710.0', '"ts": "soon"', "left out"),
    "quotes in an argument": ('"what": "it"', '"what": "f(\'a\', "b")"', "not escaped"),
    "a missing colon": ('"name": "what is', '"name" "what is', "left out"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_each_kind_of_damage_costs_at_most_its_event(case: str) -> None:
    old, new, said = BROKEN[case]
    good = text(program())
    assert old in good
    trace = read_pieces([good.replace(old, new, 1).encode()])
    sound = read_pieces([good.encode()])
    assert len(trace.slices["name"]) >= len(sound.slices["name"]) - 1
    assert len(trace.memory["bytes"]) == len(sound.memory["bytes"])
    to_xspace(trace, count=StepCount())
    assert any(said in one for one in warnings(trace)), list(warnings(trace))
    assert not list(warnings(sound))[:-1]  # the only warning is of the unknown category


def test_of_a_key_that_stands_twice_the_last_counts() -> None:
    """The Python exporter writes ``stream`` of kernels twice, and so arguments of collectives."""
    once = text([x("kernel", "k", 1.0, 2.0, 0, 9, device=0, stream=9, correlation=5, bytes=8)])
    twice = once.replace('"stream": 9', '"stream": 7, "stream": 9', 1)
    twice = twice.replace('"correlation": 5', '"correlation": 4, "correlation": 5', 1)
    assert twice != once and table(twice) == table(once)
    assert not list(warnings(read_pieces([twice.encode()])))


def test_bytes_that_are_no_text_are_replaced_and_counted() -> None:
    data = text(program()).encode().replace(b"aten::op3", b"aten::\xff\xfe", 1)
    trace = read_pieces([data])
    assert trace.texts.repairs["bytes"] == 1
    assert "aten::\ufffd\ufffd" in trace.names


def test_times_are_read_as_digits() -> None:
    """16 digits and three decimals: a double would keep a quarter of a µs."""
    events = [
        {"ph": "X", "cat": "cpu_op", "name": f"op{n}", "pid": 1, "tid": 1, "ts": 0, "dur": 0}
        for n in range(4)
    ]
    data = json.dumps({"traceEvents": events})
    for ts in ("1713800000123456.789", "1713800000123457.001", "1.713800000123458e15", "17138e11"):
        data = data.replace('"ts": 0, "dur": 0', f'"ts": {ts}, "dur": 0.001', 1)
    trace = read_pieces([data.encode()])
    assert trace.slices["start_ns"].tolist() == [
        1713800000000000000,
        1713800000123456789,
        1713800000123457001,
        1713800000123458000,
    ]
    assert set(trace.slices["duration_ns"].tolist()) == {1}


def test_times_that_were_never_taken_are_left_out() -> None:
    events = program()
    for one in events[:5]:
        one["ts"] = 0.0
    far = [{**one, "ts": one["ts"] + 9e9 if one["ts"] else 0} for one in events if "ts" in one]
    trace = read_pieces([text(far).encode()])
    assert trace.untimed == sum(one["ts"] == 0 for one in far) >= 5
    assert trace.lost == 0


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"a": 1}', '{"traceEvents": 5}', "\0" * 99])
def test_what_is_no_trace_is_refused(content: str) -> None:
    with pytest.raises(DecodeError, match="not a readable"):
        open_trace([content.encode()])


def test_a_trace_without_events_says_why() -> None:
    with pytest.raises(DecodeError) as caught:
        open_trace([b'{"schemaVersion": 1, "traceEvents": []}'])
    assert "no events" in caught.value.why


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
EVENTS = st.lists(
    st.fixed_dictionaries(
        {"ph": st.sampled_from("XiCMsfBE"), "name": st.text() | JSON},
        optional={
            "cat": st.sampled_from(["cpu_op", "kernel", "fwdbwd", "", "ac2g"]) | st.text(),
            "pid": st.integers() | st.text(),
            "tid": st.integers() | st.text(),
            "ts": JSON,
            "dur": st.floats() | st.integers(),
            "id": JSON,
            "args": JSON,
        },
    ),
    max_size=12,
)


@settings(max_examples=examples(60), deadline=None)
@given(EVENTS, st.integers(1, 400))
def test_machine_code_and_its_source_read_the_same(events: list[Event], size: int) -> None:
    data = json.dumps({"traceEvents": events}).encode()
    compiled, plain = core.json, core.plain("json_kernel")
    one = scan(parts(data, size))
    core.json = plain
    try:
        two = scan(parts(data, size))
    finally:
        core.json = compiled
    assert one.columns.keys() == two.columns.keys()
    for name, values in one.columns.items():
        assert np.array_equal(values, two.columns[name]), name
    assert one.arrows == two.arrows
    for kind, own in one.own.items():
        for name in ("key", "begin", "row", "number"):
            assert np.array_equal(getattr(own, name), getattr(two.own[kind], name)), name
    assert [one.texts.raw(n) for n in range(len(one.texts))] == [
        two.texts.raw(n) for n in range(len(two.texts))
    ]
    assert one.damage == two.damage


@settings(max_examples=examples(60), deadline=None)
@given(EVENTS)
def test_whatever_is_json_gives_planes(events: list[Event]) -> None:
    trace = read_pieces([json.dumps({"traceEvents": events, "x": 1}).encode()])
    assert trace.damage.lost == trace.damage.repaired == trace.damage.garbage == 0
    to_xspace(trace, count=StepCount())
    list(warnings(trace))
