"""A part of a recording: some of its steps, a range of time, some devices or ranks.

A selection is cut out of the columns before any table is made of them: every tool answers as if
only that part had been recorded. Steps are the exception: where they lie, and whose time is in
them, follows from the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.errors import UsageError
from stepscope.quantities import time_words
from stepscope.records import dataclass
from stepscope.tables.core.devices import devices
from stepscope.tables.core.planes import DEVICE_KINDS, PlaneKind, planes
from stepscope.tables.core.profile import Host, Profile, set_known
from stepscope.tables.steps.attribution import HostSteps, steps, steps_between, steps_on
from stepscope.tables.steps.markers import recording_window, step_markers
from stepscope.tables.steps.session import aligned_steps, session_steps

_TIME: Final = r"\s*(-?(?:[0-9][0-9_]*(?:\.[0-9]*)?|\.[0-9]+))\s*(?:(s|ms|us|µs|ns|ps)\s*)?"
_PS: Final = {"s": 10**12, "ms": 10**9, "us": 10**6, "µs": 10**6, "ns": 10**3, "ps": 1}
_RANGE: Final = re.compile(f"({_TIME})?(?:-|–|\\.\\.)({_TIME})?")
_NUMBERS: Final = re.compile(r"\s*([0-9]+)\s*(?:[-–]\s*([0-9]+)\s*)?")
_DEVICE: Final = re.compile(r"\s*(?:/device:)?(gpu|tpu|custom|rank|worker)?[ :_]?([0-9]+)\s*", re.I)
# The number of a rank in the name of its recording, and of a device in the name of its plane.
_RANK: Final = re.compile(r"(?<![a-z])(?:rank|worker)[-_=]?([0-9]+)", re.I)
_ORDINAL: Final = re.compile(r"([a-z]+):([0-9]+)", re.I)
_MOST_NAMED: Final = 4
# Planes whose events tell of the recording, not of a moment in it.
_FACTS: Final = (PlaneKind.METADATA, PlaneKind.ENVIRONMENT)


@dataclass(frozen=True, slots=True)
class Selection:
    """A part of a recording as a person names it; "" is everything.

    Attributes:
        steps: Numbers as the framework counts: "10-20", both included, or "12".
        range: Begin and end on the timeline: "1.2s-1.4s"; plain numbers are ms.
        device: Devices or ranks: "3", "GPU:0,GPU:1", "rank 5", "2-4".
    """

    steps: str = ""
    range: str = ""
    device: str = ""

    def __bool__(self) -> bool:
        return bool(self.steps or self.range or self.device)

    @classmethod
    def from_texts(cls, texts: Mapping[str, str | None]) -> Selection:
        """The selection in a query string or in flags; other names are ignored."""
        return cls(**{name: (texts.get(name) or "").strip() for name in SELECTING})


#: The names of what selects, the same on every surface.
SELECTING: Final = tuple(field.name for field in fields(Selection))


def time_from(text: str, what: str) -> int:
    """A time in ps from text such as "1.5s"; a plain number is in ms.

    Raises:
        UsageError: It is no time; ``what`` is named in the message.
    """
    match = re.fullmatch(_TIME, text)
    if match is None:
        raise UsageError(
            f"The range's {what} cannot be {text!r}.", hint="Say 1.5s, 20ms, 7us or a number."
        )
    found = round(float(match[1].replace("_", "")) * _PS[match[2] or "ms"])
    if abs(found) >= 1 << 61:
        raise UsageError(f"The range's {what} is beyond any trace.", hint="Say less.")
    return found


def selected(profile: Profile, selection: Selection) -> Profile:
    """The profile of a part of a recording.

    Durations are clipped at the edges of the range; an event that crosses one is one event.

    Raises:
        UsageError: The selection cannot be read, or nothing recorded is in it.
    """
    if not selection:
        return profile
    # The timeline is not imported for those who select nothing.
    from stepscope.timeline.axis import axis_of
    from stepscope.timeline.model import Axis

    parts, on_devices = _select_devices(profile, selection.device)
    spans, in_steps = _steps_spans(profile, selection.steps)
    axis = axis_of(profile)
    begin, end = _range(profile, selection.range) if selection.range else (None, None)
    hosts, shifts = [], []
    for index, host in parts.items():
        span = spans.get(index)
        if begin is not None and end is not None:
            shift = axis.shift_ps[index]
            low, high = span or (begin - shift, end - shift)
            span = max(low, begin - shift), min(high, end - shift)
            if span[1] <= span[0]:
                continue
        if span is not None:
            host = _clipped(host, span, all_count=not selection.range)
        hosts.append(host)
        shifts.append(axis.shift_ps[index])
    if not hosts:
        raise UsageError(
            f"Nothing of {in_steps} lies in the range {selection.range}.", slug="empty-selection"
        )
    made = replace(
        profile,
        hosts=tuple(hosts),
        selection=_said(in_steps, on_devices, begin, end),
        cache={},
        locks={},
    )
    set_known(axis_of, made, Axis(axis.origin_ns, tuple(shifts), axis.aligned_by))
    return made


def _said(in_steps: str, on_devices: str, begin: int | None, end: int | None) -> str:
    """The selection in words."""
    if begin is None or end is None:
        return f"{in_steps} on {on_devices}" if in_steps and on_devices else in_steps or on_devices
    edges = f"{_milliseconds(begin)}–{_milliseconds(end)} ms"
    if in_steps:
        text = f"{in_steps}, within {edges}"
        return f"{text}, on {on_devices}" if on_devices else text
    text = time_words((end - begin) / 1e9)
    return f"{text} of {on_devices} ({edges})" if on_devices else f"{text} ({edges})"


def _milliseconds(time_ps: int) -> str:
    return f"{time_ps / 1e9:,.6f}".rstrip("0").rstrip(".")


def _clipped(host: Host, span: tuple[int, int], *, all_count: bool) -> Host:
    """What a host did in a range of its clock; its steps are those of the whole that lie in it."""
    from stepscope.columns.trim import clipped

    kinds = planes(host).plane_kind
    facts = [row for row, line in enumerate(host.space.lines) if kinds[line.plane] in _FACTS]
    made = Host(host.name, clipped(host.space, *span, facts), span_ps=span, whole=host)
    whole = steps(host)
    if whole is not None and not whole.markers.is_window:
        inside = steps_between(whole, *span, all_count=all_count)
        if len(inside):
            _set_steps(made, inside)
            return made
    set_known(step_markers, made, recording_window(made))
    return made


def _set_steps(host: Host, found: HostSteps) -> None:
    set_known(step_markers, host, found.markers)
    set_known(steps, host, found)


def _range(profile: Profile, text: str) -> tuple[int, int]:
    """Begin and end of a range on the axis, within what was recorded."""
    from stepscope.tables.recording.common_clock import span_ps
    from stepscope.timeline.axis import axis_of

    match = _RANGE.fullmatch(text.strip())
    if match is None or not (match[1] or match[4]):
        raise UsageError(
            f"The range cannot be {text!r}.", hint='Say begin and end: "1.2s-1.4s" or "1200-1400".'
        )
    axis = axis_of(profile)
    recorded = [
        (span[0] + shift, span[1] + shift)
        for host, shift in zip(profile.hosts, axis.shift_ps, strict=True)
        if (span := span_ps(host)) is not None
    ]
    # One ps more: an instant at the very end belongs to the recording.
    first = min((begin for begin, _end in recorded), default=0)
    last = max((end for _begin, end in recorded), default=0) + 1
    # The unit of the end is that of a begin without one: "1.2-1.4s".
    begin_text = match[1] or ""
    if begin_text and match[3] is None and match[6]:
        begin_text += match[6]
    begin = max(time_from(begin_text, "begin"), first) if begin_text else first
    end = min(time_from(match[4], "end"), last) if match[4] else last
    if end <= begin:
        raise UsageError(
            f"The range {text!r} is empty.",
            hint=f"The recording lasts from {_milliseconds(first)} ms to {_milliseconds(last)} ms.",
            slug="empty-selection",
        )
    return begin, end


def _steps_spans(profile: Profile, text: str) -> tuple[dict[int, tuple[int, int]], str]:
    """Where the selected steps lie on each host's clock, and which of how many they are."""
    if not text:
        return {}, ""
    match = _NUMBERS.fullmatch(text)
    if match is None:
        raise UsageError(
            f"Steps cannot be {text!r}.", hint="Say 12, or 10-20 for eleven steps from 10 to 20."
        )
    low, high = int(match[1]), int(match[2] or match[1])
    found = session_steps(profile)
    if found is None or found.is_window or not len(found):
        raise UsageError(
            "This recording has no steps to select.",
            hint="Select a time range: --range 1.2s-1.4s.",
            slug="empty-selection",
        )
    rows = np.flatnonzero((found.num >= low) & (found.num <= high))
    if len(rows) == 0:
        first, last = int(found.num.min()), int(found.num.max())
        raise UsageError(
            f"There is no step {text}.",
            hint=f"Steps {first} to {last} were recorded.",
            slug="empty-selection",
        )
    if rows[-1] - rows[0] != len(rows) - 1:
        raise UsageError(
            f"Steps {text} lie apart: the recording counts them several times.",
            hint="Select a time range: --range 1.2s-1.4s.",
        )
    return _spans_on_hosts(profile, rows), _steps_said(found.num, rows)


def _steps_said(num: I64, rows: I64) -> str:
    first, last = int(num[rows[0]]), int(num[rows[-1]])
    lowest, highest = int(num.min()), int(num.max())
    is_count = lowest in (0, 1) and highest - lowest == len(num) - 1
    every = f"{len(num):,}" if is_count else f"{lowest}–{highest}"
    if len(rows) == 1:
        return f"step {first} of {every}"
    count = "" if len(rows) == last - first + 1 else f" ({len(rows):,} recorded)"
    return f"steps {first}–{last}{count} of {every}"


def _spans_on_hosts(profile: Profile, rows: I64) -> dict[int, tuple[int, int]]:
    """The range of these aligned steps on each host; hosts without steps share the longest."""
    from stepscope.timeline.axis import axis_of

    axis = axis_of(profile)
    spans = {}
    for one in aligned_steps(profile):
        own = one.rows[rows]
        spans[one.host] = (int(one.steps.start_ps[own].min()), int(one.steps.end_ps[own].max()))
    begin = min(span[0] + axis.shift_ps[host] for host, span in spans.items())
    end = max(span[1] + axis.shift_ps[host] for host, span in spans.items())
    others = {index: (begin - shift, end - shift) for index, shift in enumerate(axis.shift_ps)}
    return others | spans


def _select_devices(profile: Profile, text: str) -> tuple[dict[int, Host], str]:
    """The hosts that have one of the named devices, with only these; and what they are called."""
    every = dict(enumerate(profile.hosts))
    if not text:
        return every, ""
    is_chosen = _device_matcher(profile, text)
    names, all_names, parts = [], [], {}
    for index, host in every.items():
        on_host = [device for device in devices(host) if device.has_events]
        chosen = [device for device in on_host if is_chosen(host.name, device.name)]
        label = f"{host.name} " if len(every) > 1 else ""
        all_names += [label + _short(device.name) for device in on_host] or [host.name]
        if chosen:
            parts[index] = _only_devices(host, {device.plane for device in chosen})
            # A rank has a device of its own: its name says enough.
            alone = len(on_host) == 1 and label
            names += [host.name] if alone else [label + _short(one.name) for one in chosen]
        elif not on_host and is_chosen(host.name, ""):
            parts[index] = host
            names.append(host.name)
    if not parts:
        listed = ", ".join(all_names[:10]) + (" …" if len(all_names) > 10 else "")
        raise UsageError(
            f"No device or rank that ran anything is called {text!r}.",
            hint=f"Recorded: {listed}.",
            slug="empty-selection",
        )
    if len(names) > _MOST_NAMED:
        return parts, f"{len(names)} of {len(all_names)} devices"
    return parts, ", ".join(names)


def _device_matcher(profile: Profile, text: str) -> Callable[[str, str], bool]:
    """Whether a device, by its host's name and its own ("" for the host itself), is selected.

    A plain number is a rank where recordings are called by their rank, else a device of any host.
    """
    ranks = {
        host.name: int(found[1]) for host in profile.hosts if (found := _RANK.search(host.name))
    }
    wanted_ranks: set[int] = set()
    wanted_numbers: set[int] = set()
    wanted_names: set[str] = set()
    for word in filter(None, map(str.strip, text.split(","))):
        numbers, named = _NUMBERS.fullmatch(word), _DEVICE.fullmatch(word)
        if numbers is not None:
            first, last = int(numbers[1]), int(numbers[2] or numbers[1])
            several = {n for n in (*ranks.values(), *_ordinals(profile)) if first <= n <= last}
            (wanted_ranks if several & set(ranks.values()) else wanted_numbers).update(several)
        elif named is not None and named[1].lower() in ("rank", "worker"):
            wanted_ranks.add(int(named[2]))
        elif named is not None:
            wanted_names.add(f"{named[1].upper()}:{int(named[2])}")
        else:
            wanted_names.add(word)

    def is_chosen(host: str, device: str) -> bool:
        if host in wanted_names or ranks.get(host) in wanted_ranks:
            return True
        short = _short(device)
        found = _ORDINAL.match(short)
        if wanted_names & {short, f"{host}/{short}"}:
            return True
        return found is not None and (
            f"{found[1].upper()}:{int(found[2])}" in wanted_names or int(found[2]) in wanted_numbers
        )

    return is_chosen


def _ordinals(profile: Profile) -> set[int]:
    found = (_ORDINAL.match(_short(one.name)) for host in profile.hosts for one in devices(host))
    return {int(match[2]) for match in found if match is not None}


def _short(device: str) -> str:
    return device.removeprefix("/device:")


def _only_devices(host: Host, chosen: set[int]) -> Host:
    """The host without what ran on its other devices."""
    from stepscope.columns.trim import trimmed

    kinds = planes(host).plane_kind
    dropped = [
        row
        for row, line in enumerate(host.space.lines)
        if kinds[line.plane] in DEVICE_KINDS and line.plane not in chosen and line.end > line.begin
    ]
    if not dropped:
        return host
    made = Host(host.name, trimmed(host.space, ~host.space.on_lines(dropped)))
    whole, markers = steps(host), step_markers(host)
    if whole is not None and markers is not None:
        set_known(step_markers, made, markers)
        _set_steps(made, steps_on(made, whole))
    return made
