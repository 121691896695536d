"""Whether two runs did the same work under the same conditions, so far as the recordings say.

A difference in any of these may be the whole explanation of a difference in step time, and none
of them is the program's code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np

from stepscope.comparison.comparison import ParityRow
from stepscope.quantities import share_words
from stepscope.result import Table
from stepscope.tables.core.devices import devices
from stepscope.tables.core.profile import Profile
from stepscope.tables.in_steps.batch_sizes import batch_sizes
from stepscope.tables.memory.allocations import allocations, has_allocations
from stepscope.tables.recording.completeness import completeness
from stepscope.tables.recording.environment import environment, session_environment
from stepscope.tables.recording.recorder_costs import RecorderLevels, recorder_levels
from stepscope.tables.steps.session import SessionSteps, session_steps

UNKNOWN: Final = ""
# Shares of 16-bit compute that differ by more are another precision, not noise.
_PRECISION_FRAC: Final = 0.10
# Types of numbers with a smaller share of the bytes allocated are beside the point.
_TYPE_FRAC: Final = 0.05
# As JAX and PyTorch call them; TensorFlow calls those of 16 and 64 bits half and double.
_FLOATS: Final = re.compile(r"b?float|half|double")
_RECORDER: Final = "stepscope_version"
# Step counts that differ by more than this factor may have caught different phases of a program.
_COUNT_RATIO: Final = 2.0


class _Property(NamedTuple):
    """One property of both runs; "" where a recording does not say it."""

    name: str
    baseline: str
    candidate: str
    note: str
    same: bool | None = None

    @property
    def status(self) -> str:
        if UNKNOWN in (self.baseline, self.candidate):
            return "unknown"
        same = self.baseline == self.candidate if self.same is None else self.same
        return "same" if same else "differs"


def parity(before: Profile, after: Profile) -> Table[ParityRow]:
    """Compare the conditions of two runs; the note says what a difference does to the times."""
    rows = [one for one in _properties(before, after) if one.baseline or one.candidate]
    return Table(
        ParityRow,
        {
            "property": [one.name for one in rows],
            "baseline": [one.baseline or "not recorded" for one in rows],
            "candidate": [one.candidate or "not recorded" for one in rows],
            "status": [one.status for one in rows],
            "note": [one.note if one.status == "differs" else "" for one in rows],
        },
    )


def _properties(before: Profile, after: Profile) -> Iterator[_Property]:
    for name, said, note in _SAID:
        yield _Property(name, said(before), said(after), note)
    yield from _noted(before, after)
    yield _precision(before, after)
    yield from _steps(session_steps(before), session_steps(after))


def framework(profile: Profile) -> str:
    """The framework of a run, "" where no event gives it away."""
    found = (environment(host).framework for host in profile.hosts)
    return next((one for one in found if one != "Unknown"), UNKNOWN)


def device_types(profile: Profile) -> str:
    """The types of the devices that ran anything; "CPU" where none did."""
    types = [one.type for host in profile.hosts for one in devices(host) if one.has_events]
    return ", ".join(dict.fromkeys(types)) or "CPU"


def _noted(before: Profile, after: Profile) -> Iterator[_Property]:
    """Versions, and settings that are not at their defaults; a recorder notes all or none."""
    found = [session_environment(profile) for profile in (before, after)]
    for key in sorted(found[0].versions.keys() | found[1].versions.keys()):
        old, new = (one.versions.get(key, UNKNOWN) for one in found)
        note = "Another version may run other code for the same op."
        yield _Property(key.replace("_", " "), old, new, note)
    # Stepscope notes every setting that is not at its default; other recorders note none.
    default = ["default" if _RECORDER in one.versions else UNKNOWN for one in found]
    for key in sorted(found[0].settings.keys() | found[1].settings.keys()):
        old, new = (one.settings.get(key, usual) for one, usual in zip(found, default, strict=True))
        yield _Property(key, old, new, "Another setting of the framework.")


def _tensor_types(profile: Profile) -> str:
    """Return the types of numbers that hold a notable share of the bytes allocated."""
    held: dict[str, int] = {}
    for host in profile.hosts:
        found = allocations(host) if has_allocations(host) else None
        if found is None:
            continue
        taken = found.data_type.codes[found.is_allocation]
        size = np.maximum(found.allocated_bytes[found.is_allocation], 0)
        for text, own in zip(
            found.data_type.texts, np.bincount(taken, size, len(found.data_type.texts)), strict=True
        ):
            if _FLOATS.match(text):
                held[text] = held.get(text, 0) + int(own)
    least = _TYPE_FRAC * sum(held.values())
    return ", ".join(sorted(name for name, own in held.items() if own > least))


def _hosts(profile: Profile) -> str:
    return str(len(profile.hosts))


def _devices_per_host(profile: Profile) -> str:
    counts = {sum(one.has_events for one in devices(host)) for host in profile.hosts}
    return ", ".join(str(count) for count in sorted(counts) if count)


def _batch(profile: Profile) -> str:
    sizes = sorted({size for host in profile.hosts for size in batch_sizes(host)})
    return ", ".join(map(str, sizes))


def _precision(before: Profile, after: Profile) -> _Property:
    shares = [_share_16(session_steps(one)) for one in (before, after)]
    words = [
        UNKNOWN if one is None else f"{share_words(one)} in 16 bits or fewer" for one in shares
    ]
    same = None
    if shares[0] is not None and shares[1] is not None:
        same = abs(shares[0] - shares[1]) <= _PRECISION_FRAC
    note = "Another precision: compare the results as well."
    return _Property("device compute", words[0], words[1], note, same)


def _share_16(found: SessionSteps | None) -> float | None:
    if found is None:
        return None
    low, high = (
        int(found.parts_ps[part][found.kept].sum())
        for part in ("device_compute_16", "device_compute_32")
    )
    return low / (low + high) if low + high else None


def _steps(before: SessionSteps | None, after: SessionSteps | None) -> Iterator[_Property]:
    if before is None or after is None:
        return
    counts = int(before.kept.sum()), int(after.kept.sum())
    yield _Property(
        "steps found by",
        before.source,
        after.source,
        "A step may not span the same work in both.",
    )
    yield _Property(
        "steps",
        str(counts[0]),
        str(counts[1]),
        "The recordings may cover different phases of the program.",
        max(counts) <= _COUNT_RATIO * max(min(counts), 1),
    )


def _levels(profile: Profile) -> str:
    found = {_spelled(one) for host in profile.hosts if (one := recorder_levels(host)) is not None}
    return "; ".join(sorted(found))


def _spelled(one: RecorderLevels) -> str:
    return f"host {one.host}, device {one.device}, Python {one.python}"


def _complete(profile: Profile) -> str:
    order = ("complete", "partial", "damaged")
    return max((completeness(host).verdict for host in profile.hosts), key=order.index, default="")


# Property, how a recording says it, and what a difference in it means.
_SAID: Final[tuple[tuple[str, Callable[[Profile], str], str], ...]] = (
    ("framework", framework, "Ops of different frameworks are matched by what they compute."),
    ("devices", device_types, "The hardware differs; so does every kernel's time."),
    ("devices per host", _devices_per_host, "Each host feeds another number."),
    ("hosts", _hosts, "Another number of ranks."),
    (
        "batch size",
        _batch,
        "Steps of another batch size are not comparable; compare the time per example.",
    ),
    ("tensor types", _tensor_types, "Another precision: compare the results as well."),
    ("tracer levels", _levels, "The recordings slowed their programs to different degrees."),
    ("completeness", _complete, "A recording that lost events misses their time."),
)
