"""How long the drawing thread is busy with each frame, from the browser's own trace."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

#: What Chromium has to record for this.
CATEGORIES: Final = ("devtools.timeline", "disabled-by-default-devtools.timeline", "toplevel")
_PAUSE_MS: Final = 200  # no frame for this long: nothing moved, rather than a slow frame


@dataclass(frozen=True, slots=True)
class Frames:
    """Frames that ran script, in order.

    Attributes:
        busy_ms: How long the page's main thread was busy with each: input, script, layout, paint
            and handing the layers over.
        interval_ms: From the begin of a frame to the begin of the next, pauses left out.
    """

    busy_ms: list[float]
    interval_ms: list[float]


def frames_of(trace: bytes) -> Frames:
    """Read a trace in Chrome's JSON format.

    A frame is a task of the renderer's main thread in which an animation callback ran; what else
    the task does (style, layout, paint, commit) belongs to the frame and is in its time.

    Raises:
        ValueError: The trace holds no frames.
    """
    events: list[dict[str, Any]] = json.loads(trace)["traceEvents"]
    named = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event["name"] == "thread_name"
    }
    called = [event for event in events if event["name"] == "FireAnimationFrame"]
    drawing = Counter(
        (event["pid"], event["tid"])
        for event in called
        if named.get((event["pid"], event["tid"])) == "CrRendererMain"
    )
    if not drawing:
        raise ValueError("the trace has no animation frame on a renderer's main thread")
    thread = drawing.most_common(1)[0][0]
    tasks = sorted(
        (event["ts"], event["ts"] + event["dur"])
        for event in events
        if event["name"] == "RunTask"
        and event["ph"] == "X"
        and (event["pid"], event["tid"]) == thread
    )
    begins = [begin for begin, _end in tasks]
    chosen = set()
    for event in called:
        at = bisect_right(begins, event["ts"]) - 1
        if (event["pid"], event["tid"]) == thread and at >= 0 and event["ts"] < tasks[at][1]:
            chosen.add(at)
    if not chosen:
        raise ValueError("the trace has no task around its animation frames")
    frames = [tasks[at] for at in sorted(chosen)]
    steps = [(b[0] - a[0]) / 1e3 for a, b in pairwise(frames)]
    return Frames(
        busy_ms=[(end - begin) / 1e3 for begin, end in frames],
        interval_ms=[step for step in steps if step < _PAUSE_MS],
    )
