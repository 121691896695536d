"""A frame is the whole task of the drawing thread around its animation callback."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.frames import frames_of

PAGE, OTHER = (7, 1), (9, 1)


def named(thread: tuple[int, int], name: str) -> dict[str, Any]:
    pid, tid = thread
    return {"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def event(thread: tuple[int, int], name: str, begin_ms: float, ms: float) -> dict[str, Any]:
    pid, tid = thread
    return {"name": name, "ph": "X", "pid": pid, "tid": tid, "ts": begin_ms * 1e3, "dur": ms * 1e3}


def trace(*events: dict[str, Any]) -> bytes:
    names = named(PAGE, "CrRendererMain"), named(OTHER, "CrGpuMain")
    return json.dumps({"traceEvents": [*names, *events]}).encode()


def test_style_layout_and_paint_around_the_callback_count_and_other_tasks_do_not() -> None:
    found = frames_of(
        trace(
            event(PAGE, "RunTask", 0, 9),
            event(PAGE, "FireAnimationFrame", 1, 2),
            event(PAGE, "RunTask", 10, 40),  # no frame: a script of its own
            event(PAGE, "RunTask", 60, 5),
            event(PAGE, "FireAnimationFrame", 61, 1),
            event(OTHER, "RunTask", 61, 100),
        )
    )
    assert found.busy_ms == [9, 5]
    assert found.interval_ms == [60]


def test_two_callbacks_of_one_frame_are_one_frame() -> None:
    found = frames_of(
        trace(
            event(PAGE, "RunTask", 0, 9),
            event(PAGE, "FireAnimationFrame", 1, 2),
            event(PAGE, "FireAnimationFrame", 4, 2),
        )
    )
    assert found.busy_ms == [9]


def test_a_pause_is_no_slow_frame() -> None:
    frames = [
        one
        for begin in (0, 16, 1000, 1016)
        for one in (event(PAGE, "RunTask", begin, 4), event(PAGE, "FireAnimationFrame", begin, 1))
    ]
    assert frames_of(trace(*frames)).interval_ms == [16, 16]


def test_a_trace_without_frames_is_refused() -> None:
    with pytest.raises(ValueError, match="no animation frame"):
        frames_of(trace(event(PAGE, "RunTask", 0, 9)))
    with pytest.raises(ValueError, match="no task around"):
        frames_of(trace(event(PAGE, "FireAnimationFrame", 1, 2)))
