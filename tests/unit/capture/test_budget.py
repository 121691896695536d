"""What ends a session, how long the program runs undisturbed, and what that costs it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from stepscope.capture.budget import Price, SessionLimit
from stepscope.capture.runtime import machine

MB = 1_000_000
EVENT_BYTES = 64


class Process:
    """A clock, and what the allocator says."""

    seconds = 1000.0
    processor_seconds = 1e9
    used_bytes = 500 * MB
    delayed_seconds: float | None = 0.0

    def advance(self, seconds: float, grown_bytes: float = 0) -> None:
        self.seconds += seconds
        self.used_bytes += int(grown_bytes)


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    one = Process()
    monkeypatch.setattr(time, "monotonic", lambda: one.seconds)
    monkeypatch.setattr(time, "process_time", lambda: one.processor_seconds)
    monkeypatch.setattr(machine, "used_bytes", lambda: one.used_bytes)
    monkeypatch.setattr(machine, "delayed_seconds", lambda: one.delayed_seconds)
    monkeypatch.setattr(machine, "process_age_ns", lambda: 0)
    yield one


def events_of_session(process: Process, limit: SessionLimit, per_tick: int) -> int:
    """Events that a session gathers until its limit ends it; one that never ends fails."""
    limit.begin()
    for tick in range(1, 10_000):
        process.advance(0.05, per_tick * EVENT_BYTES)
        if limit.is_reached():
            return tick * per_tick
    raise AssertionError("the session was never ended")


def test_a_session_ends_when_the_heap_has_grown_by_its_events(process: Process) -> None:
    assert events_of_session(
        process, SessionLimit(500 * MB, is_short=True), 1_000
    ) == pytest.approx(40_000, 0.1)


def test_where_every_step_is_wanted_memory_alone_ends_a_session(process: Process) -> None:
    events = events_of_session(process, SessionLimit(1000 * MB, is_short=False), 1_000)
    assert events == pytest.approx(1000 * MB / 8 / EVENT_BYTES, 0.1)


def test_little_memory_makes_shorter_sessions(process: Process) -> None:
    # Ending a session takes up to eight times its buffers.
    events = events_of_session(process, SessionLimit(20 * MB, is_short=True), 500)
    assert 8 * events * EVENT_BYTES <= 1.2 * 20 * MB


def test_without_a_limit_of_memory_nothing_is_ended(process: Process) -> None:
    limit = SessionLimit(None, is_short=True)
    limit.begin()
    process.advance(1.0, 5_000 * MB)
    assert not limit.is_reached()


def test_memory_that_the_program_frees_does_not_hide_events(process: Process) -> None:
    limit = SessionLimit(500 * MB, is_short=True)
    limit.begin()
    process.advance(0.05, -300 * MB)
    assert not limit.is_reached()
    process.advance(0.05, 60_000 * EVENT_BYTES)
    assert limit.is_reached()


def test_events_that_are_slow_to_hand_over_make_shorter_sessions(process: Process) -> None:
    limit = SessionLimit(500 * MB, is_short=True)
    events = events_of_session(process, limit, 1_000)
    limit.end(events, seconds=2.0, end_seconds=0.1 + events * 50e-6)
    assert events_of_session(process, limit, 1_000) == pytest.approx(10_000, 0.15)


def test_a_session_ends_by_the_last_rate_where_the_heap_shows_nothing(process: Process) -> None:
    limit = SessionLimit(500 * MB, is_short=True)
    limit.begin()
    limit.end(events=40_000, seconds=0.1, end_seconds=0.6)
    limit.begin()
    process.advance(0.09)
    assert not limit.is_reached()
    process.advance(0.06)
    assert limit.is_reached()


def test_the_first_session_with_steps_holds_ten_of_them_unless_they_are_large(
    process: Process,
) -> None:
    limit = SessionLimit(500 * MB, is_short=True)
    limit.begin()
    limit.is_reached(steps=1)
    process.advance(0.1, 20_000 * EVENT_BYTES)
    assert not limit.is_reached(steps=9)
    process.advance(0.1)
    assert limit.is_reached(steps=10)
    process.advance(0.1, 15_000 * EVENT_BYTES)
    assert limit.is_reached(steps=4)
    process.advance(0.1)
    assert not limit.is_reached(steps=3)
    process.advance(0.1, 30_000 * EVENT_BYTES)
    assert limit.is_reached(steps=1)


def test_a_recording_with_ten_whole_steps_needs_only_four_in_a_session(process: Process) -> None:
    limit = SessionLimit(500 * MB, is_short=True)
    limit.begin()
    limit.is_reached(steps=1)
    process.advance(0.1, 20_000 * EVENT_BYTES)
    assert not limit.is_reached(steps=4, recorded_steps=5)
    process.advance(0.1)
    assert limit.is_reached(steps=4, recorded_steps=6)


def test_growth_before_the_first_step_takes_nothing_from_its_session(process: Process) -> None:
    limit = SessionLimit(500 * MB, is_short=True)
    limit.begin()
    limit.end(events=100_000, seconds=0.1, end_seconds=0.1)
    limit.begin()
    process.advance(0.02, 50 * MB)
    assert not limit.is_reached(steps=1)
    process.advance(1.0, 10_000 * EVENT_BYTES)
    assert not limit.is_reached(steps=10)


def test_growth_before_the_first_step_makes_no_session_longer(process: Process) -> None:
    limit = SessionLimit(500 * MB, is_short=True)
    for _ in range(3):
        limit.begin()
        process.advance(0.1, 10 * MB)
        limit.is_reached()
        limit.end(events=100, seconds=0.1, end_seconds=0.0)
    limit.begin()
    assert not limit.is_reached(steps=1)
    process.advance(0.1, 10 * MB)
    assert limit.is_reached(steps=10)
    limit.end(events=100, seconds=0.1, end_seconds=0.0)
    assert events_of_session(process, limit, 1_000) == pytest.approx(15_000, 0.1)


def test_a_session_waits_for_whole_steps_but_not_for_ever(process: Process) -> None:
    limit = SessionLimit(500 * MB, is_short=True)
    limit.begin()
    assert not limit.is_reached(steps=1, recorded_steps=10)
    limit.begin()
    process.advance(0.1, 30_000 * EVENT_BYTES)
    assert not limit.is_reached(steps=1, recorded_steps=10)
    process.advance(0.1)
    assert limit.is_reached(steps=4, recorded_steps=10)
    process.advance(0.1, 40_000 * EVENT_BYTES)
    assert limit.is_reached(steps=1, recorded_steps=10)


def test_what_a_framework_takes_once_makes_no_event_larger(process: Process) -> None:
    limit = SessionLimit(500 * MB, is_short=True)
    limit.begin()
    process.advance(0.1, 12 * MB)  # 10,000 events, and what the first session takes
    limit.is_reached()
    limit.end(events=10_000, seconds=0.1, end_seconds=0.6)
    limit.begin()
    process.advance(0.05, 10_100 * EVENT_BYTES)
    assert limit.is_reached()


def test_a_program_that_grows_by_itself_is_cut_ever_less_often(process: Process) -> None:
    limit = SessionLimit(500 * MB, is_short=True)
    sizes = []
    for _ in range(3):
        sizes.append(events_of_session(process, limit, 100))
        limit.end(events=10, seconds=1.0, end_seconds=0.001)
    assert sizes == sorted(sizes) and sizes[-1] > sizes[0]


def test_memory_of_a_programs_own_step_ends_only_the_first_session(process: Process) -> None:
    limit = SessionLimit(500 * MB, is_short=True)
    ended = []
    for growth_mb in (150, 150, 150, 250):
        limit.begin()
        process.advance(0.1, growth_mb * MB)
        ended.append(limit.is_reached() and limit.is_memory_full)
        limit.end(events=500, seconds=0.1, end_seconds=0.01)
        process.advance(0.1, -growth_mb * MB)
    # What is more than that may be of events.
    assert ended == [True, False, False, True]


def test_cheap_sessions_follow_each_other_at_once(process: Process) -> None:
    price = Price(1.2, None)
    process.advance(10.0)
    price.session(events=20_000, seconds=5.0, end_seconds=0.1)
    assert price.rest_seconds(0, 10.0) == 0.0


def test_the_program_rests_until_the_price_is_kept(process: Process) -> None:
    price = Price(1.2, None)
    process.advance(10.0)
    for _ in range(5):
        price.session(events=100_000, seconds=0.5, end_seconds=1.0)
    rest = price.rest_seconds(0, 10.0)
    # 5 × (0.2 + 1) s are a fifth of 30 s, of which 10 are over.
    assert rest == pytest.approx(20.0)
    price.rest(rest)
    process.advance(rest / 2)
    assert not price.is_rest_over(0, 0.0)
    process.advance(rest / 2)
    assert price.is_rest_over(0, 0.0)


def test_the_price_of_a_session_is_what_its_steps_were_slower(process: Process) -> None:
    price = Price(1.2, None)
    process.advance(10.0)
    price.session(events=100_000, seconds=2.0, end_seconds=0.5, recorder_frac=0.75)
    assert price.cost_frac == pytest.approx(0.2, 0.01)


@pytest.mark.parametrize("delayed_seconds", [None, 75.0, 90.0])
def test_where_others_use_the_machine_the_price_is_of_what_the_program_gets(
    process: Process, delayed_seconds: float | None
) -> None:
    price = Price(1.2, None)
    process.advance(100.0)
    for _ in range(5):
        price.session(events=10_000, seconds=0.5, end_seconds=0.98)
    assert price.rest_seconds(0, 10.0) == 0.0
    process.processor_seconds = 20.0 + 5.0  # 20 s of its own, and the recorder's
    process.delayed_seconds = delayed_seconds
    assert price.rest_seconds(0, 10.0) == pytest.approx(5.0)


def test_waiting_of_the_program_itself_is_its_time(process: Process) -> None:
    price = Price(1.2, None)
    process.advance(100.0)
    process.processor_seconds, process.delayed_seconds = 10.0, 20.0
    price.session(events=10_000, seconds=0.5, end_seconds=7.98)
    assert price.cost_frac == pytest.approx(8 / (100 - 20 - 8))


def test_the_first_sessions_need_not_wait_for_it(process: Process) -> None:
    price = Price(1.2, None)
    process.advance(3.0)
    price.session(events=100_000, seconds=0.5, end_seconds=1.0)
    # 1.2 s are a fifth of 6 s, of which 3 are over; with another 1.2 s, half of 4.8 s.
    assert price.rest_seconds(0, 1.0) == pytest.approx(1.8)


def test_the_first_sessions_may_slow_the_program_by_a_second_or_by_half(process: Process) -> None:
    price = Price(1.2, None)
    process.advance(1.0)
    price.session(events=10_000, seconds=0.5, end_seconds=0.9)
    assert price.rest_seconds(0, 1.0) == pytest.approx(0.3)
    price.session(events=10_000, seconds=0.5, end_seconds=1.06)
    # 2 s, and 1.08 s of the next session, are half of 6.16 s, of which one is over.
    assert price.rest_seconds(0, 1.0) == pytest.approx(5.16)


def test_a_first_session_of_more_events_than_the_last_one_is_waited_for_longer(
    process: Process,
) -> None:
    price = Price(1.2, None)
    process.advance(1.0)
    price.session(events=10_000, seconds=0.5, end_seconds=1.08)
    # 1.1 s, and 2.1 s of the next session, are half of 6.4 s, of which one is over. It would rest
    # 5.5 s for a price of 1.2 as it is.
    assert price.rest_seconds(0, 1.0, next_events=20_000) == pytest.approx(4.5)
    assert price.rest_seconds(0, 1.0, next_events=5_000) < price.rest_seconds(0, 1.0)


def test_imports_before_the_loop_make_no_slowdown_of_it_cheaper(process: Process) -> None:
    price = Price(1.2, None)
    process.advance(100.0)
    price.session(events=100, seconds=5.0, end_seconds=0.1, begun=price.now())
    begun = price.now()
    process.advance(10.0)
    for _ in range(5):
        price.session(events=100_000, seconds=0.5, end_seconds=1.0, begun=begun)
    # 6 s are a fifth of 30 s; the loop has run for 10 s, of which 6 were the recorder's.
    assert price.rest_seconds(0, 101.0) == pytest.approx(26.0)


def test_a_session_with_details_holds_two_large_steps(process: Process) -> None:
    limit = SessionLimit(500 * MB, is_short=True)
    limit.begin(is_detailed=True)
    limit.is_reached(steps=1)
    process.advance(0.1, 20_000 * EVENT_BYTES)
    assert not limit.is_reached(steps=1)
    process.advance(0.1)
    assert limit.is_reached(steps=2)
    limit.lighten()
    limit.begin()
    process.advance(0.1, 50_000 * EVENT_BYTES)
    assert not limit.is_reached(steps=7, recorded_steps=2)


def test_a_rest_in_which_steps_are_heard_lasts_until_they_tell_something(process: Process) -> None:
    price = Price(1.2, None)
    price.rest(0.3)
    process.advance(0.4)
    assert not price.is_rest_over(steps=3, step_seconds=0.3)
    assert price.is_rest_over(steps=20, step_seconds=0.4)
    assert price.is_rest_over(steps=3, step_seconds=2.1)
    # Ten whole steps go before twenty undisturbed ones.
    assert price.is_rest_over(steps=3, step_seconds=0.3, recorded_steps=9)


def test_no_program_writes_more_than_the_file_may_hold(process: Process) -> None:
    price, written, begun = Price(1.2, 200 * MB), 0, process.seconds
    for _ in range(2_000):
        process.advance(0.5)
        price.session(1_000, 0.5, 0.0)
        written += 3 * MB
        process.advance(price.rest_seconds(written, process.seconds - begun))
    assert written * 500 / 2_000 > 100 * MB and process.seconds - begun > 60
    assert price.rest_seconds(199 * MB, 60.0) > 30


def test_at_any_price_nothing_rests(process: Process) -> None:
    price = Price(None, None)
    price.session(10_000_000, 1.0, 100.0)
    assert price.rest_seconds(10**12, 1.0) == 0.0
    assert not price.wants_steps(10_000)


def test_executions_are_counted_after_longer_and_longer_sessions() -> None:
    price = Price(1.2, None)
    assert [second for second in range(60) if price.wants_executions(second)] == [3, 12, 48]
    assert not Price(None, None).wants_executions(1_000)


def test_undisturbed_steps_are_wanted_after_more_and_more_recorded_ones() -> None:
    price = Price(1.2, None)
    assert [steps for steps in range(1, 1_000) if price.wants_steps(steps)] == [40, 160, 640]
