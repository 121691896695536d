"""The sampler of Python stacks: what it sees, how it nests, what it does not disturb."""

from __future__ import annotations

import _thread
import dis
import sys
import threading
import time
import weakref
from types import FrameType
from typing import Any, cast

import numpy as np
import pytest

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Recorded
from stepscope.capture.recorders import python_sampler
from stepscope.capture.recorders.python_sampler import PythonSampler, _Looks, cpu_ns, wants_gil
from stepscope.capture.runtime.ticker import Ticker
from stepscope.formats.xspace import decode
from stepscope.schema import names
from stepscope.tables.core.profile import Host, Profile
from stepscope.timeline import timeline
from tests.profiles import parse

MS = 1_000_000


def collected(sampler: PythonSampler) -> Recorded:
    """What a sampler hands over at its end, converted."""
    made = sampler.collect()
    return made if isinstance(made, Recorded) else made()


def busy(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        sum(range(500))


def outer(seconds: float) -> None:
    busy(seconds)


def until_seen(sampler: PythonSampler, over: threading.Event) -> None:
    """Run until the sampler has looked often, or another thread says so."""
    looked = sampler._looks.times
    enough, deadline = len(looked) + 20, time.monotonic() + 60
    while len(looked) < enough and time.monotonic() < deadline and not over.is_set():
        outer(0.02)
    over.set()


def spans(data: bytes) -> dict[str, list[tuple[str, float, float]]]:
    """By line: (name, begin ms, length ms) in file order."""
    plane, *_ = parse(data).planes
    return {
        line.name: [
            (
                plane.event_metadata[one.metadata_id].name,
                line.timestamp_ns / 1e6 + one.offset_ps / 1e9,
                one.duration_ps / 1e9,
            )
            for one in line.events
        ]
        for line in plane.lines
    }


class Code:
    """Stands for a code object: the sampler only asks for these."""

    def __init__(self, name: str, line: int = 1) -> None:
        self.co_name = self.co_qualname = name
        self.co_filename = "/work/model.py"
        # At even lines in a loop of Python code, at odd ones in a call.
        # The names are those of 3.11 and later, and of 3.10.
        ops = dis.opmap
        jump = ops.get("JUMP_BACKWARD", ops.get("JUMP_ABSOLUTE"))
        call = ops.get("CALL", ops.get("CALL_FUNCTION"))
        assert jump is not None and call is not None
        self.co_code = bytes([jump, call] * 50)
        self.co_firstlineno = line

    def co_positions(self) -> list[tuple[None, None, None, None]]:
        """Where its instructions are in the source, which nobody kept."""
        return []


class Frame:
    """A frame as ``sys._current_frames`` gives them."""

    def __init__(self, code: Code, line: int, back: Frame | None = None) -> None:
        self.f_code, self.f_lineno, self.f_lasti, self.f_back = code, line, line, back
        self.f_globals = {"__name__": "model"}


MAIN, LOAD, TRAIN = Code("main", 1), Code("load", 10), Code("train", 20)


def looks(
    monkeypatch: pytest.MonkeyPatch, seen: list[tuple[int, Frame | None]], period_ms: int = 10
) -> _Looks:
    """Looks at one thread at these times (ms)."""
    made = _Looks()
    made.period_ns = period_ms * MS
    for at, frame in seen:
        frames = {} if frame is None else {4242: cast(FrameType, frame)}
        monkeypatch.setattr(sys, "_current_frames", lambda frames=frames: frames)
        made.take(at * MS, 0)
    return made


def drawn(made: _Looks) -> list[tuple[str, float, float]]:
    return spans(made.plane().xspace())["thread 4242"]


def test_equal_callers_are_one_slice_around_several(monkeypatch: pytest.MonkeyPatch) -> None:
    load = Frame(LOAD, 11, Frame(MAIN, 3))
    train = Frame(TRAIN, 21, Frame(MAIN, 4))
    found = drawn(looks(monkeypatch, [(0, load), (10, load), (20, train)]))
    assert found == [
        ("$/work/model.py:1 main", 0, 30),
        ("$/work/model.py:3", 0, 20),
        ("$/work/model.py:10 load", 0, 20),
        ("$/work/model.py:11", 0, 20),
        ("$/work/model.py:4", 20, 10),
        ("$/work/model.py:20 train", 20, 10),
        ("$/work/model.py:21", 20, 10),
    ]


def test_one_function_on_two_lines_is_one_slice_with_two_lines_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = drawn(looks(monkeypatch, [(0, Frame(MAIN, 3)), (10, Frame(MAIN, 4))]))
    assert found == [
        ("$/work/model.py:1 main", 0, 20),
        ("$/work/model.py:3", 0, 10),
        ("$/work/model.py:4", 10, 10),
    ]


def test_a_gap_between_looks_is_not_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looked from 10 to 100 ms (the machine slept): that time is nobody's."""
    found = drawn(looks(monkeypatch, [(0, Frame(MAIN, 3)), (100, Frame(MAIN, 3))]))
    assert found[0::2] == [("$/work/model.py:1 main", 0, 10), ("$/work/model.py:1 main", 100, 10)]


def test_a_thread_that_was_away_for_a_look_is_not_drawn_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = [(0, Frame(MAIN, 3)), (10, None), (20, Frame(MAIN, 3))]
    assert [one[1:] for one in drawn(looks(monkeypatch, seen))[0::2]] == [(0, 10), (20, 10)]


def test_recursion_nests(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = Frame(MAIN, 3, Frame(MAIN, 3, Frame(MAIN, 3)))
    assert len(drawn(looks(monkeypatch, [(0, deep)]))) == 6


def test_no_stack_is_too_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    frame: Frame | None = None
    for _ in range(5000):
        frame = Frame(MAIN, 3, frame)
    assert 250 <= len(drawn(looks(monkeypatch, [(0, frame)]))) <= 500


def test_all_threads_are_seen_with_their_names_even_when_they_have_ended() -> None:
    sampler = PythonSampler()
    sampler.start(ProfilerOptions(sample_hz=200))
    begin = time.perf_counter()
    over = threading.Event()
    loader = threading.Thread(target=until_seen, args=(sampler, over), name="loader")
    loader.start()
    until_seen(sampler, over)
    loader.join()
    recorded = collected(sampler)
    took_ms = (time.perf_counter() - begin) * 1e3 + 5  # what is seen last, lasts a period
    found = spans(recorded.xspace)
    assert {"MainThread", "loader", "_counters_"} <= set(found)
    assert not [name for name in found if name.startswith("stepscope-")]
    for thread in ("MainThread", "loader"):
        total = sum(length for name, _, length in found[thread] if name.endswith(" outer"))
        assert 0 < total <= took_ms
    # By line, not by name: threads that other tests left may share one.
    planes = parse(recorded.xspace).planes
    lines = [line for plane in planes for line in plane.lines]
    assert recorded.events == sum(len(line.events) for line in lines)


@pytest.mark.parametrize(("gap_ms", "lines"), [(10, {"loader"}), (20, {"thread 4242", "loader"})])
def test_a_thread_that_is_named_at_its_next_look_is_one_line(
    monkeypatch: pytest.MonkeyPatch, gap_ms: int, lines: set[str]
) -> None:
    """One of C++, or one that has just begun; after a gap its number may be another's."""
    seen: list[tuple[int, Frame | None]] = [(0, Frame(MAIN, 3))]
    if gap_ms > 10:
        seen.append((10, None))
    made = looks(monkeypatch, seen)

    class Named:
        ident, native_id, name = 4242, 17, "loader"

    monkeypatch.setattr(threading, "enumerate", lambda: [Named()])
    frames = {4242: cast(FrameType, Frame(MAIN, 3))}
    monkeypatch.setattr(sys, "_current_frames", lambda: frames)
    made.take(gap_ms * MS, 0)
    assert set(spans(made.plane().xspace())) - {"_counters_"} == lines


def test_slices_are_on_the_wall_clock_and_nest() -> None:
    sampler = PythonSampler()
    sampler.start(ProfilerOptions(sample_hz=250))
    begin = time.time_ns()
    until_seen(sampler, threading.Event())
    end = time.time_ns()
    found = spans(collected(sampler).xspace)["MainThread"]
    inside = [one for one in found if one[0].endswith(" outer")]
    assert inside[0][1] >= begin / 1e6
    # What is seen lasts until the next look, three periods at most.
    assert inside[-1][1] + inside[-1][2] <= end / 1e6 + 12
    children = sum(length for name, _, length in found if name.endswith(" busy"))
    assert children <= sum(length for _, _, length in inside) + 1e-6


def test_the_timeline_shows_nested_python_tracks_and_the_lateness(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load = Frame(LOAD, 11, Frame(MAIN, 3))
    data = looks(monkeypatch, [(0, load), (10, load)]).plane().xspace()
    shown = timeline(Profile("p", (Host("h", decode(data)),)))
    by_name = {track.name: track for track in shown.tracks}
    assert {section.kind for section in shown.sections} == {"python"}
    assert shown.pyramid(by_name["thread 4242"]).lanes == 4
    counter = by_name["Python sampling lateness"].counter
    assert counter is not None
    assert counter.unit == "ms"


def test_nothing_is_recorded_at_0_hz() -> None:
    sampler = PythonSampler()
    sampler.start(ProfilerOptions(sample_hz=0))
    time.sleep(0.02)
    assert collected(sampler).xspace == b""


def test_the_interval_of_threads_is_what_it_was_before() -> None:
    before = sys.getswitchinterval()
    sampler = PythonSampler()
    sampler.start(ProfilerOptions())
    assert sys.getswitchinterval() == pytest.approx(0.0002)
    collected(sampler)
    assert sys.getswitchinterval() == pytest.approx(before)
    sampler.start(ProfilerOptions())
    sys.setswitchinterval(0.02)  # the program's own choice, meanwhile
    sampler.drop()
    assert sys.getswitchinterval() == pytest.approx(0.02)
    sys.setswitchinterval(before)


def test_python_functions_of_few_milliseconds_are_seen_as_long_as_they_take() -> None:
    """Half the time each: 3 ms of Python, then 3 ms in which the GIL is free.

    How much of it is seen depends on how long the machine lets the sampler wait for a processor;
    with the interpreter's own interval, on the same machine, it is next to nothing.
    """
    share = share_in_python()
    assert 3 * share_in_python(switch_interval=0.005) < share < 0.75


def share_in_python(switch_interval: float | None = None) -> float:
    """The share of a second that is seen in a function that has half of it."""

    def python() -> None:
        busy(0.003)

    sampler = PythonSampler()
    sampler.start(ProfilerOptions(sample_hz=200))
    own = sys.getswitchinterval()
    if switch_interval is not None:
        sys.setswitchinterval(switch_interval)
    begin = time.perf_counter()
    while time.perf_counter() - begin < 1.0:
        python()
        time.sleep(0.003)
    sys.setswitchinterval(own)
    # A copy: while numpy holds the array itself, the sampler cannot append to it.
    late_ms = float(np.median(list(sampler._looks.late_ns))) / MS
    found = spans(collected(sampler).xspace)["MainThread"]
    if late_ms > 1 and switch_interval is None:  # five times what a thread may keep the GIL for
        pytest.skip(f"the sampler waited {late_ms:.1f} ms for a processor: nothing to measure")
    # Python 3.10 does not know the function around it.
    return sum(length for name, _, length in found if name.endswith((".python", " python"))) / 1000


def test_collect_without_start_and_twice_is_empty() -> None:
    sampler = PythonSampler()
    assert collected(sampler).events == 0
    sampler.start(ProfilerOptions())
    sampler.drop()
    assert collected(sampler).xspace == b""


def test_no_thread_is_left_behind() -> None:
    before = set(threading.enumerate())
    sampler = PythonSampler()
    for _ in range(3):
        sampler.start(ProfilerOptions(sample_hz=500))
        collected(sampler)
    assert set(threading.enumerate()) <= before


def test_looks_that_come_late_are_said() -> None:
    made = _Looks()
    made.period_ns = 10 * MS
    made.late_ns.extend([9 * MS, 9 * MS, 0])
    notes = python_sampler._notes(Ticker("t", 1, cast(Any, None)), made)
    assert [note.slug for note in notes] == ["sampler-late"]
    assert "67 %" in notes[0].message


def test_a_ticker_leaves_out_what_it_missed_and_keeps_what_ended_it() -> None:
    seen: list[int] = []

    def tick(now_ns: int, late_ns: int) -> None:
        seen.append(now_ns)
        if len(seen) == 2:
            time.sleep(0.1)
        if len(seen) == 4:
            raise RuntimeError("full")

    ticker = Ticker("t", 100, tick)
    ticker.start()
    ticker._thread.join(60)
    ticker.stop()
    assert len(seen) == 4
    assert isinstance(ticker.error, RuntimeError)
    assert ticker.missed >= 8
    assert np.diff(seen)[1] > 90 * MS


def test_a_recording_begins_with_many_looks_that_keep_no_step_with_the_loop() -> None:
    ticker = Ticker("t", 100, lambda _now, _late: None, first=(300, 1000.0), spread_frac=0.5)
    first = np.asarray([ticker._period(at) for at in range(300)])
    later = np.asarray([ticker._period(at) for at in range(300, 1300)])
    for periods, mean in ((first, 0.001), (later, 0.01)):
        assert periods.mean() == pytest.approx(mean, rel=0.01)
        assert periods.min() == pytest.approx(0.75 * mean, rel=0.02)
        assert periods.max() == pytest.approx(1.25 * mean, rel=0.02)


def test_the_last_look_lasts_as_long_as_looks_were_apart() -> None:
    times = np.asarray([0, 1, 2, 3]) * MS
    one = np.zeros((1, 1), np.int64)
    _node, begin, length = python_sampler._slices(times, np.arange(4), one[[0, 0, 0, 0]], 10 * MS)
    assert (begin.tolist(), length.tolist()) == ([0], [4 * MS])


@pytest.mark.parametrize("unwritten", ["_cpu_ns", "_stack", "_thread", "_look"])
def test_a_look_that_never_ended_costs_no_other(unwritten: str) -> None:
    looks = _Looks()
    looks.period_ns = 10 * MS
    for at in range(3):
        looks.take(at * 10 * MS, 0)
    whole = spans(looks.plane().xspace())
    looks.take(30 * MS, 0)
    getattr(looks, unwritten).pop()  # the interpreter went away in the midst of it
    cut = spans(looks.plane().xspace())
    assert set(cut) == set(whole)
    assert all(cut.values())
    looks.threads_plane()


def test_a_thread_without_an_object_ends_no_look() -> None:
    """As C++ has them that calls back into Python: their only number is an address."""
    may_end, seen = _thread.allocate_lock(), _thread.allocate_lock()
    may_end.acquire()
    seen.acquire()

    def wait() -> None:
        seen.release()
        may_end.acquire()

    number = _thread.start_new_thread(wait, ())
    seen.acquire()
    looks = _Looks()
    looks.period_ns = 10 * MS
    for at in range(3):
        looks.take(at * 10 * MS, 0)
    may_end.release()
    assert f"thread {number}" in {name for _number, name in looks._threads}
    looks.plane()
    looks.threads_plane()


def test_a_thread_that_only_such_a_look_saw_costs_no_other() -> None:
    looks = _Looks()
    looks.period_ns = 10 * MS
    for at in range(3):
        looks.take(at * 10 * MS, 0)
    whole = spans(looks.plane().xspace())
    looks._add_thread(7, "began as the program ended", 7)
    assert spans(looks.plane().xspace()) == whole
    looks.threads_plane()


def test_a_thread_that_has_ended_can_go() -> None:
    """A thread of the program's may hold a batch."""
    looks = _Looks()
    may_end = threading.Event()
    thread = threading.Thread(target=may_end.wait)
    thread.start()
    sampler = threading.Thread(target=looks.take, args=(1, 0), name="stepscope-sampler")
    sampler.start()
    sampler.join()
    may_end.set()
    thread.join()
    gone = weakref.ref(thread)
    del thread
    assert gone() is None


def test_who_ran_is_told_by_processor_time_and_by_where_threads_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In Python code with little time: it waits for the GIL. In C code without: for something."""
    used = iter([0, 9 * MS, 10 * MS, 18 * MS, 18 * MS])
    monkeypatch.setattr(python_sampler, "cpu_ns", lambda _: next(used))
    made = looks(
        monkeypatch,
        [
            (0, Frame(MAIN, 2)),
            (10, Frame(MAIN, 4)),
            (20, Frame(MAIN, 3)),
            (30, Frame(MAIN, 5)),
            (100, Frame(MAIN, 2)),
        ],
    )
    (plane,) = parse(made.threads_plane().xspace()).planes
    assert plane.name == names.PYTHON_THREADS_PLANE
    stat = {key: value.name for key, value in plane.stat_metadata.items()}
    (line,) = plane.lines
    found = [
        (
            plane.event_metadata[one.metadata_id].name,
            (line.timestamp_ns + one.offset_ps / 1e3) / MS,
            one.duration_ps / 1e3 / MS,
            {stat[value.metadata_id]: value.int64_value / MS for value in one.stats},
        )
        for one in line.events
    ]
    assert found == [
        (names.IN_PYTHON, 0, 10, {names.CPU_NS: 9}),
        (names.IN_PYTHON, 10, 10, {names.CPU_NS: 1}),
        (names.OUTSIDE_PYTHON, 20, 10, {names.CPU_NS: 8}),
        (names.IN_PYTHON, 100, 10, {}),  # what it used after the last look is not known
    ]


def test_a_thread_in_a_loop_of_python_wants_the_gil_and_one_that_sleeps_does_not() -> None:
    over = threading.Event()

    def loops() -> None:
        number = 0
        while number >= 0 and not over.is_set():
            for _ in range(1000):
                number += 1

    def sleeps() -> None:
        while not over.is_set():
            time.sleep(0.2)

    threads = [threading.Thread(target=target) for target in (loops, sleeps)]
    for thread in threads:
        thread.start()
    seen: list[list[bool]] = [[], []]
    deadline = time.monotonic() + 60
    while not any(seen[0]) and time.monotonic() < deadline:
        time.sleep(0.01)
        frames = sys._current_frames()
        for thread, found in zip(threads, seen, strict=True):
            frame = frames.get(cast(int, thread.ident))
            if frame is not None and frame.f_code.co_name in ("loops", "sleeps"):
                found.append(wants_gil(frame.f_code, frame.f_lasti))
    over.set()
    for thread in threads:
        thread.join()
    assert any(seen[0])
    assert not any(seen[1])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell it")
def test_the_processor_time_of_a_thread_is_known_while_it_lives() -> None:
    ended = threading.Thread(target=lambda: None)
    ended.start()
    ended.join()
    before = cpu_ns(threading.get_native_id())
    busy(0.01)
    assert cpu_ns(threading.get_native_id()) > before > 0
    assert cpu_ns(cast(int, ended.native_id)) == -1
    assert cpu_ns(-1) == -1
    assert cpu_ns(threading.get_ident()) == -1  # an address
