"""The steps of a whole session: hosts aligned step by step.

Hosts of one job run the same steps, so step *n* is as long as on its slowest host, and its parts
are that host's (parts of different hosts do not add up to any host's step). Hosts without
devices only coordinate: they are left out where another host has devices.
"""

from __future__ import annotations

import numpy as np

from stepscope.columns import distinct
from stepscope.columns.space import I32, I64, Bool
from stepscope.records import dataclass
from stepscope.tables.core.devices import devices
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.steps.attribution import PARTS, HostSteps, steps
from stepscope.tables.steps.found import WINDOW, Certainty
from stepscope.tables.steps.markers import has_steps
from stepscope.tables.steps.statistics import StepSample


@dataclass(frozen=True, eq=False, slots=True)
class SessionSteps:
    """One row per aligned step.

    Attributes:
        source, confidence, explanation: How steps were found (of the weakest host).
        num, name: As recorded.
        start_ps: Start on the first host's clock (hosts' clocks differ).
        duration_ps: Length, of the slowest host.
        parts_ps: ``{part: int64[steps]}``, of the slowest host.
        kept: Whether the step counts.
        is_outlier: Whether it does not only because it is far longer than all others.
        host: Index into ``Profile.hosts`` of the slowest host.
        certainty: "certain", "likely" or "uncertain", of the weakest host.
        reason: Why it is that sure, as a clause.
        left_out: Which steps and times do not count, and why; sentences.
        recorder_ps: Time of each step in which a recorder did its own work, on the slowest host.
        busy_frac: Mean over devices that ran in any step of their busy share of the kept steps;
            None without such devices.
    """

    source: str
    confidence: float
    explanation: str
    num: I64
    name: list[str]
    start_ps: I64
    duration_ps: I64
    parts_ps: dict[str, I64]
    kept: Bool
    is_outlier: Bool
    host: I32
    busy_frac: float | None
    certainty: Certainty
    reason: str
    left_out: tuple[str, ...]
    recorder_ps: I64

    @property
    def is_window(self) -> bool:
        """Whether there are no steps, and the recording as a whole counts as one."""
        return self.source == WINDOW

    @property
    def sample(self) -> StepSample:
        """The times in ms that statistics are over: the steps kept, and outliers."""
        timed = self.kept | self.is_outlier
        return StepSample(self.duration_ps[timed] / 1e9, self.is_outlier[timed])

    def __len__(self) -> int:
        return len(self.num)


@dataclass(frozen=True, eq=False, slots=True)
class AlignedSteps:
    """One host's share of the aligned steps.

    Attributes:
        host: Index into ``Profile.hosts``.
        steps: All steps of the host.
        rows: Which of them is each aligned step; equally long for all hosts.
    """

    host: int
    steps: HostSteps
    rows: I64


@derived
def aligned_steps(profile: Profile) -> tuple[AlignedSteps, ...]:
    """The steps that all hosts share, per host that takes part; empty when none has events.

    Hosts without devices only coordinate where another host has devices, and a host without
    steps cannot be aligned: these are left out. Where no host has steps, the recording of each
    counts as one.
    """
    found = _participants(profile)
    if not found:
        return ()
    shared = _aligned([one for _index, one in found])
    return tuple(
        AlignedSteps(index, one, rows) for (index, one), rows in zip(found, shared, strict=True)
    )


def has_aligned_steps(profile: Profile) -> bool:
    """Whether ``aligned_steps`` has any that are steps, and no window in place of them."""
    return any(has_steps(host) for host in taking_part(profile))


def taking_part(profile: Profile) -> list[Host]:
    """The hosts whose steps count: those with devices where any has, with steps where any has.

    A launcher has none: it waits for its ranks.
    """
    hosts = [host for host in profile.hosts if _has_work(host)] or list(profile.hosts)
    return [host for host in hosts if has_steps(host)] or hosts


@derived
def session_steps(profile: Profile) -> SessionSteps | None:
    """Align the hosts' steps; None when no host has any."""
    aligned = aligned_steps(profile)
    if not aligned:
        return None
    lengths = np.stack([one.steps.duration_ps[one.rows] for one in aligned])
    slowest = lengths.argmax(axis=0)
    columns = np.arange(lengths.shape[1])
    parts = {}
    for part in PARTS:
        values = [one.steps.parts_ps[part][one.rows] for one in aligned]
        parts[part] = np.stack(values)[slowest, columns]
    kept = np.all([one.steps.kept[one.rows] for one in aligned], axis=0)
    timed = np.all([one.steps.timed[one.rows] for one in aligned], axis=0)
    first, rows = aligned[0].steps, aligned[0].rows
    weakest = min((one.steps.markers for one in aligned), key=lambda one: one.confidence)
    return SessionSteps(
        source=weakest.source,
        confidence=weakest.confidence,
        explanation=weakest.explanation,
        num=first.markers.num[rows],
        name=[first.markers.name[row] for row in rows.tolist()],
        start_ps=first.start_ps[rows],
        duration_ps=lengths[slowest, columns],
        parts_ps=parts,
        kept=kept,
        is_outlier=timed & ~kept,
        host=np.asarray([one.host for one in aligned], dtype=np.int32)[slowest],
        busy_frac=_busy_frac([one.steps for one in aligned]),
        certainty=weakest.certainty,
        reason=weakest.reason,
        left_out=_left_out(profile, aligned, kept),
        recorder_ps=np.stack([one.steps.recorder_ps[one.rows] for one in aligned])[
            slowest, columns
        ],
    )


def _left_out(profile: Profile, aligned: tuple[AlignedSteps, ...], kept: Bool) -> tuple[str, ...]:
    """What each host leaves out, and steps that not all hosts have."""
    many = len(aligned) > 1
    said = [
        f"{profile.hosts[one.host].name}: {text}" if many else text
        for one in aligned
        for text in one.steps.left_out
    ]
    unshared = max(len(one.steps) for one in aligned) - len(kept)
    if unshared > 0:
        said.append(f"{unshared} of the steps were not recorded on every host.")
    return tuple(said)


def why_no_step(found: SessionSteps | None) -> str:
    """Why no step counts, where none does."""
    if found is None or not len(found) or found.is_window:
        return "No step was marked and none could be inferred."
    return (
        f"Of the steps found, all hosts share only {len(found)}, and each of these is the first "
        "or the last of a host, which may be cut off."
    )


def _participants(profile: Profile) -> list[tuple[int, HostSteps]]:
    """Hosts that take part, with their steps."""
    places = {id(host): index for index, host in enumerate(profile.hosts)}
    every = ((places[id(host)], steps(host)) for host in taking_part(profile))
    found = [(index, one) for index, one in every if one is not None]
    # The recording as a whole is not a step that another host shares.
    marked = [(index, one) for index, one in found if not one.markers.is_window]
    return marked or found


def _has_work(host: Host) -> bool:
    return any(device.has_events for device in devices(host))


def _aligned(found: list[HostSteps]) -> list[I64]:
    """Rows of the steps that all hosts share: by step number where they agree, else by order."""
    first = found[0].markers.num
    common = first
    for one in found[1:]:
        common = common[np.isin(common, one.markers.num)]
    unique = all(len(distinct(one.markers.num)) == len(one) for one in found)
    if len(found) > 1 and len(common) and unique:
        wanted = first[np.isin(first, common)]
        return [_rows_numbered(one.markers.num, wanted) for one in found]
    shortest = min(len(one) for one in found)
    return [np.arange(shortest, dtype=np.int64) for _one in found]


def _rows_numbered(num: I64, wanted: I64) -> I64:
    """The row of each wanted number; all of them occur, once."""
    order = np.argsort(num, kind="stable")
    rows: I64 = order[np.searchsorted(num[order], wanted)]
    return rows


def _busy_frac(found: list[HostSteps]) -> float | None:
    shares = []
    for one in found:
        total = int(one.duration_ps[one.kept].sum())
        # A device that ran nothing in any step was not idle in them: its events are elsewhere.
        active = [busy for busy in one.busy_ps.values() if busy.any()]
        shares += [float(busy[one.kept].sum()) / total for busy in active if total]
    return float(np.mean(shares)) if shares else None
