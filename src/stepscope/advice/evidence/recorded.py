"""What a rule says where the recording lacks the kind of evidence that its silence rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stepscope.registry import Unknown
from stepscope.tables.recording.evidence import Evidence

if TYPE_CHECKING:
    from stepscope.analysis.overview_page import OverviewPage

# What is missing, and what to record.
_LACKS: Final[dict[Evidence, str]] = {
    "host": "No thread of the host was recorded; record with host_tracer_level 1 or more.",
    "driver": "No call of a device's driver or runtime was recorded on the host; record with "
    "host_tracer_level 2 and the device's tracer on.",
    "device": "Nothing was recorded on a device.",
    "ops": "No op was recorded, on the host or on a device; record with host_tracer_level 2.",
    "input": "No call that fetches input was recorded (tf.data, a DataLoader, an infeed); mark "
    "where the program takes its batch: with stepscope.annotate('next batch').",
    "python": "No Python function was recorded; stepscope record samples them.",
    "garbage": "Python's collections of garbage were not recorded, or there was none; stepscope "
    "record listens for them.",
    "dispatch": "No call that dispatches an op or a compiled function was recorded; record with "
    "host_tracer_level 2.",
}
# TensorFlow's eager ops are recorded as the calls that dispatch them, and not as ops.
_DISPATCHED: Final = (
    "Calls that dispatch ops were recorded, but no run of an op in itself: a compiled function's "
    "ops are, and so are those of some versions in eager mode."
)


def not_recorded(overview: OverviewPage, *kinds: Evidence) -> Unknown | None:
    """Why the recording cannot tell: the first of these kinds that it lacks; None if it has all."""
    missing = next((kind for kind in kinds if kind not in overview.recorded), None)
    if missing == "ops" and "dispatch" in overview.recorded:
        return Unknown(_DISPATCHED)
    return None if missing is None else Unknown(_LACKS[missing])
