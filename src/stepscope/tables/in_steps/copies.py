"""Copies on and between devices and the host: how many, how large, out of which memory.

Three dialects of ``memcpy_details`` exist in the wild; all are ``key:value`` words:

* CUPTI: ``kind_src:pageable kind_dst:device size:4096 dest:0 async:1``
* CUPTI before 2021: ``size:4096 dest:0 async:1``
* ROCm: ``kind:Unknown size:4096 dest:512 async:1``
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.schema.numbers import whole_number
from stepscope.tables.core.distinct_rows import packed
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.core.stats import event_stats
from stepscope.tables.device.events import DeviceEvents, device_events
from stepscope.tables.host.events import Work
from stepscope.tables.steps.session import aligned_steps

DIRECTIONS: dict[int, str] = {
    Work.HOST_TO_DEVICE: "host to device",
    Work.DEVICE_TO_HOST: "device to host",
    Work.DEVICE_TO_DEVICE: "device to device",
}
#: What writes one value everywhere: nothing is read, so that it goes in no direction.
SET = "set to a value"
_SETS = re.compile(r"(?<!_)mem_?set", re.I)
_WORD = re.compile(r"(?<!\w)(\w+):([^\s;]+)")
_HOST_MEMORY = ("pageable", "pinned", "managed", "host")


@dataclass(frozen=True, slots=True)
class CopyKind:
    """What makes two copies alike.

    Attributes:
        direction: One of ``DIRECTIONS``, or ``SET``.
        host_memory: "pageable", "pinned", "managed", "host" (not said which); "" not recorded.
        asynchronous: Whether the call returned at once; None where not recorded.
    """

    direction: str
    host_memory: str
    asynchronous: bool | None


@dataclass(frozen=True, slots=True)
class Copies:
    """Copies of one kind: how often, how long, how many bytes (None where not recorded)."""

    kind: CopyKind
    occurrences: int
    total_ps: int
    bytes: int | None


@dataclass(frozen=True, slots=True)
class CopyDetails:
    """One ``memcpy_details`` text, read; None or "" where it does not say."""

    host_memory: str = ""
    bytes: int | None = None
    asynchronous: bool | None = None


def parse_memcpy_details(text: str) -> CopyDetails:
    """Read a ``memcpy_details`` text of any dialect; words that make no sense count as absent."""
    words: dict[str, str] = dict(_WORD.findall(text))
    ends = (words.get("kind_src", ""), words.get("kind_dst", ""))
    size, flag = words.get("size", words.get("num_bytes", "")), words.get("async", "")
    return CopyDetails(
        host_memory=next((end for end in ends if end in _HOST_MEMORY), ""),
        # Nobody copies 0 bytes: that is what ROCm writes when it did not ask.
        bytes=max(whole_number(size) or 0, 0) or None,
        asynchronous={"0": False, "1": True}.get(flag),
    )


@derived
def session_copies(profile: Profile) -> tuple[Copies, ...]:
    """The copies of all hosts in the counted steps, by kind, the longest total first."""
    aligned = aligned_steps(profile)
    if not aligned:
        return ()
    kept = np.all([one.steps.kept[one.rows] for one in aligned], axis=0)
    return merge_copies(
        copies
        for one in aligned
        for copies in host_copies(
            profile.hosts[one.host],
            one.steps.start_ps[one.rows[kept]],
            one.steps.end_ps[one.rows[kept]],
        )
    )


def host_copies(host: Host, start_ps: I64, end_ps: I64) -> tuple[Copies, ...]:
    """The copies of a host's devices that begin in these disjoint ascending intervals, by kind."""
    found = device_events(host)
    is_copy = np.isin(found.work, list(DIRECTIONS)) & ~found.is_container
    place = np.searchsorted(start_ps, found.start_ps, side="right") - 1
    inside = (place >= 0) & (len(start_ps) > 0)
    inside[inside] = found.start_ps[inside] < end_ps[place[inside]]
    chosen = np.flatnonzero(is_copy & inside)
    if len(chosen) == 0:
        return ()
    texts = event_stats(host).texts(names.MEMCPY_DETAILS)
    code = texts.at(found.rows[chosen])
    details = [CopyDetails(), *(parse_memcpy_details(text) for text in texts.texts)]
    meta = host.space.events.metadata[found.rows[chosen]]
    sets = entries_shaped(host, lambda name: _SETS.search(name) is not None)
    return merge_copies(_alike(found, chosen, code, details, sets[meta]))


def merge_copies(rows: Iterable[Copies]) -> tuple[Copies, ...]:
    """Add up copies of the same kind, longest first; bytes are unknown where any of them are."""
    sums: dict[CopyKind, Copies] = {}
    for row in rows:
        known = sums.get(row.kind)
        sums[row.kind] = row if known is None else _added(known, row)
    return tuple(sorted(sums.values(), key=lambda one: (-one.total_ps, str(one.kind))))


def _added(one: Copies, other: Copies) -> Copies:
    size = None if one.bytes is None or other.bytes is None else one.bytes + other.bytes
    return Copies(
        one.kind, one.occurrences + other.occurrences, one.total_ps + other.total_ps, size
    )


def _alike(
    found: DeviceEvents, chosen: I64, code: I64, details: list[CopyDetails], is_set: Bool
) -> list[Copies]:
    """One row per direction and ``memcpy_details`` text."""
    work = np.where(is_set, 0, found.work[chosen].astype(np.int64))
    key = packed((work, code + 1))
    _values, first, group = np.unique(key, return_index=True, return_inverse=True)
    counts = np.bincount(group)
    total = np.zeros(len(first), dtype=np.int64)
    np.add.at(total, group, found.duration_ps[chosen])
    rows = []
    for place, count, time in zip(first.tolist(), counts.tolist(), total.tolist(), strict=True):
        said = details[int(code[place]) + 1]
        kind = CopyKind(DIRECTIONS.get(int(work[place]), SET), said.host_memory, said.asynchronous)
        size = None if said.bytes is None else said.bytes * count
        rows.append(Copies(kind, count, time, size))
    return rows
