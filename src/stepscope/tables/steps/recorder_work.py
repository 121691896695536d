"""What a recording makes the program do, which is not work of the program's steps.

A profiler's own start and stop run on the program's thread, and a callback that records writes
its summaries there when the recorded batch is over. Where such work is at the edge of a step,
the step ends before it; what is inside the step is counted apart.
"""

from __future__ import annotations

import re

import numpy as np

from stepscope.columns import union_spans
from stepscope.columns.space import I64, Bool
from stepscope.schema import names
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.host.events import host_thread_rows, timed_rows

# Functions of ours that only call what they wrap: a framework's backward pass, fetch or import, the
# program's own function. Their callees stand as if they were not there.
_WRAPPERS = (
    r"stepscope[/\\]capture[/\\]"
    r"(?:launch[/\\]import_hook|runtime[/\\]start_spans|hooks[/\\]steps|tracing)\.py:"
)
_WRAPPER = re.compile(rf"^\$(?:.*[/\\])?{_WRAPPERS}")
# Starting and ending a profiler, by the frames that Python tracers and samplers write, and by the
# events of the frameworks; hooks of our own are frames of the package.
_FRAMES = re.compile(
    r"^\$(?:.*[/\\])?(?:profiler(?:_v2)?\.py|profiler_client\.py):\d+ "
    r"(?:\w+\.)?(?:start|stop|start_trace|stop_trace|export|_?stop_?\w*|_?start_?\w*)$"
    rf"|^\$(?:.*[/\\])?(?!{_WRAPPERS})stepscope[/\\]capture[/\\]"
)
# All of PyTorch's profiler: its ``step`` ends a step and begins the next, so that it is in both.
_OF_TORCH = re.compile(r"^\$(?:.*[/\\])?torch[/\\]profiler[/\\]profiler\.py:\d+ ")
_EVENTS = re.compile(
    r"ProfilerSession|CollectData|StopProfiler|StartProfiler|ExportToTensorBoard|"
    rf"^{re.escape(names.RECORDER_OVERHEAD)}"
)
# What a callback that records writes when its batch is over. A program may do the same in every
# step, so this counts only after the last step.
_SUMMARY = re.compile(
    r"(?:^|[: ])(?:FlushSummaryWriter|WriteSummary|WriteRawProtoSummary|WriteGraphSummary|"
    r"WriteScalarSummary|CloseSummaryWriter|CreateSummaryFileWriter)$"
)


def is_recorder_work(name: str) -> bool:
    """Whether an event of this name is work of a recorder on the program's thread."""
    return _FRAMES.match(name) is not None or _EVENTS.search(name) is not None


def is_wrapper(name: str) -> bool:
    """Whether a Python call of this name is a recorder's wrapper around another function."""
    return _WRAPPER.match(name) is not None


def is_recorder_frame(name: str) -> bool:
    """Whether a Python call of this name is a recorder's, wherever in a step it is."""
    return is_recorder_work(name) or _OF_TORCH.match(name) is not None


def is_summary_write(name: str) -> bool:
    """Whether an event of this name writes a summary: the program's own, or a callback's."""
    return "Summary" in name and _SUMMARY.search(name) is not None


@derived
def recorder_spans(host: Host) -> tuple[I64, I64]:
    """When a recorder worked on the program's threads; disjoint, ascending."""
    return _spans(host, entries_shaped(host, is_recorder_work))


@derived
def summary_spans(host: Host) -> tuple[I64, I64]:
    """When summaries were written on the program's threads; disjoint, ascending."""
    return _spans(host, entries_shaped(host, is_summary_write))


def _spans(host: Host, wanted: Bool) -> tuple[I64, I64]:
    if not wanted.any():
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing
    space = host.space
    rows = timed_rows(host, wanted)
    rows = rows[np.isin(space.lines_of(rows), host_thread_rows(host))]
    start = space.events.start_ps[rows]
    return union_spans(start, start + space.length_ps[rows])
