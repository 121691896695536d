"""What the times of all tools are of: the mean counted step, or the recording as a whole.

Sums over events are of the recording, accounts of steps of the mean step; asked for the same base
they can be compared. Per step, an event counts where it begins in a step that counts, and counts
whole; sums over all devices and hosts are divided by the number of steps. Over the recording, an
account takes the whole recording for its only step, less what the recorder itself did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from stepscope.records import dataclass, replace
from stepscope.tables.core.devices import devices
from stepscope.tables.core.profile import Host, Profile, StepsOf, TimeBase, derived
from stepscope.tables.core.time_spans import TimeSpans
from stepscope.tables.steps.session import aligned_steps, session_steps

# Tables of these folders know nothing of steps, so both views of a host share them.
_WITHOUT_STEPS = tuple(f"stepscope.tables.{room}." for room in ("core", "hlo", "host", "device"))
_WHOSE: Final[dict[StepsOf, str]] = {
    "slowest": "each as on the slowest of {hosts} hosts in it",
    "longest": "of that one of {hosts} hosts whose steps take longest",
    "mean": "and the mean over {hosts} hosts",
    "sum": "summed over {hosts} hosts",
}
_WHOSE_RECORDING: Final[dict[StepsOf, str]] = {
    "slowest": "the longest of {hosts} hosts'",
    "longest": "the longest of {hosts} hosts'",
    "mean": "and the mean over {hosts} hosts",
    "sum": "summed over {hosts} hosts",
}


@dataclass(frozen=True, slots=True)
class MeanSteps:
    """The steps that times are a mean of.

    Attributes:
        count: How many.
        spans: Where they are, by index of the host; hosts that take no part are left out.
    """

    count: int
    spans: dict[int, TimeSpans]


def with_times_of(profile: Profile, base: TimeBase) -> Profile:
    """The same profile, asked for times of this."""
    hosts = profile.hosts
    if base == "recording":
        hosts = tuple(_crop_to_window(host) for host in hosts)
    return replace(profile, hosts=hosts, times_of=base, cache={}, locks={})


def _crop_to_window(host: Host) -> Host:
    shared = {
        key: table for key, table in list(host.cache.items()) if key.startswith(_WITHOUT_STEPS)
    }
    return replace(host, as_window=True, cache=shared, locks={})


@derived
def mean_steps(profile: Profile) -> MeanSteps | None:
    """The steps that sums are to be means of, or the recording as their only one.

    None where nobody asked, or nothing was recorded: sums are then of all events, and a device's
    idle time lies between its first and its last. A selected range of time is the only step.
    """
    ranges = {
        index: TimeSpans(*(np.asarray([edge], np.int64) for edge in host.span_ps))
        for index, host in enumerate(profile.hosts)
        if host.span_ps is not None
    }
    if ranges and profile.times_of is None:
        return MeanSteps(1, ranges)
    aligned = aligned_steps(profile) if profile.times_of else ()
    if not aligned:
        return None
    kept = np.all([one.steps.kept[one.rows] for one in aligned], axis=0)
    is_window = aligned[0].steps.markers.is_window
    spans = {
        one.host: TimeSpans(one.steps.start_ps[one.rows[kept]], one.steps.end_ps[one.rows[kept]])
        for one in aligned
    }
    return MeanSteps(1 if is_window else int(kept.sum()), spans) if kept.any() else None


def summed_hosts(profile: Profile) -> list[tuple[Host, TimeSpans | None]]:
    """The hosts whose events are summed, each with the spans they must begin in; None: any."""
    counted = mean_steps(profile)
    if counted is None:
        return [(host, None) for host in profile.hosts]
    return [(profile.hosts[row], spans) for row, spans in counted.spans.items()]


def base_of(profile: Profile, own: TimeBase) -> TimeBase | None:
    """What the times of a tool are of; None where there are none. ``own``: by itself.

    Where no step was found, the recording is the only step there is.
    """
    base = profile.times_of or own
    if base == "recording" and own == "recording":
        return base
    found = session_steps(profile)
    if found is None or not found.kept.any():
        return None
    return "recording" if found.is_window else "step"


def said(profile: Profile, own: TimeBase, steps_of: StepsOf) -> str:
    """What the times of a tool are of, as a sentence.

    Args:
        profile: The recording.
        own: What they are of by themselves.
        steps_of: Whose steps, where several hosts run them.
    """
    base = profile.times_of or own
    whole = "selection" if profile.selection else "whole recording"
    if base == "recording" and own == "recording":
        return f"Times are of the {whole}."
    found = session_steps(profile)
    if found is None or not found.kept.any():
        return ""
    count = int(found.kept.sum())
    if found.is_window:
        whose = _whose(profile, steps_of, _WHOSE_RECORDING)
        none = "no whole step lies in it" if profile.selection else "no step was found"
        why = "" if base == "recording" else f": {none}"
        if count > 1 and own == "step":
            part = "selection" if profile.selection else "recording"
            return f"Times are of the {part}{why}, the mean of its {count} parts{whose}."
        return f"Times are of the {whole}{why}{whose}."
    whose = _whose(profile, steps_of, _WHOSE)
    if count == 1:
        return f"Times are of one step{whose}."
    return f"Times are per step, the mean of {count:,}{whose}."


def _whose(profile: Profile, steps_of: StepsOf, words: Mapping[StepsOf, str]) -> str:
    """Whose times they are, where several devices or hosts run the steps; "" for one."""
    aligned = aligned_steps(profile)
    hosts = len(aligned)
    if steps_of == "sum":
        ran = sum(each.has_events for one in aligned for each in devices(profile.hosts[one.host]))
        if ran > hosts:
            return f", summed over {ran} devices" + (f" of {hosts} hosts" if hosts > 1 else "")
    return f", {words[steps_of].format(hosts=hosts)}" if hosts > 1 else ""
