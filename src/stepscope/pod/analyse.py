"""Summaries of one job → the answer about it. Two hosts or ten thousand: the same way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64, Bool
from stepscope.errors import NothingToShow
from stepscope.pod import NO_SHARED_COLLECTIVE
from stepscope.pod.causes import Causes
from stepscope.pod.clocks import Clocks, clocks_of
from stepscope.pod.delay import delays_of
from stepscope.pod.evidence import evidence_of
from stepscope.pod.intake import Gathered, gathered
from stepscope.pod.map import map_of
from stepscope.pod.meetings import Meetings, Units, join, units_of
from stepscope.pod.places import MeshAxis, axes_of, families_of, stages_of
from stepscope.pod.report import (
    AxisRow,
    CostRow,
    DeviceRow,
    FileRow,
    LinkRow,
    Pod,
    PodStepRow,
    SuspectRow,
)
from stepscope.pod.saving import PodReplays
from stepscope.pod.suspects import Search, Suspect
from stepscope.pod.typical import Typical, typical_of
from stepscope.pod.waves import Waves, waves_of
from stepscope.quantities import share_words, time_words
from stepscope.result import Diagnostic, Table, ms, us
from stepscope.summary.summary import Summary, Who

F64 = NDArray[np.float64]
# A step this much longer than the typical one has stragglers, known or not.
_UNEVEN: Final = 0.03
_MOST_LINKS: Final = 500
_NAMED: Final = 10
# Ops that take less of all time do not make a step longer.
_LEAST_OF_TIME: Final = 0.05
_MOST_OPS: Final = 12
_PS_PER_NS: Final = 1000
_FAR_NS: Final = 10**15


def analyse(
    summaries: Iterable[Summary],
    session: str = "",
    files: Sequence[tuple[str, str, str]] = (),
    expected: int = 0,
) -> Pod:
    """Say who makes a pod slower.

    Args:
        summaries: One of each recording.
        session: What to call the run.
        files: Recordings that are not among them: name, state, reason.
        expected: How many recordings there should be; 0 where nothing says.

    Raises:
        NothingToShow: No two devices share a collective.
    """
    return answer(gathered(summaries), session, files, expected)


def answer(
    whole: Gathered,
    session: str = "",
    files: Sequence[tuple[str, str, str]] = (),
    expected: int = 0,
) -> Pod:
    """The same from what was gathered of summaries; it has no collectives afterwards."""
    found = join(whole)
    if not len(found):
        raise NothingToShow(
            NO_SHARED_COLLECTIVE,
            why="Nothing in them says who waits for whom.",
            hint="Record all hosts of the job at the same time, with steps marked.",
        )
    return _Analysis(whole, found).report(session, files, expected)


class _Analysis:
    def __init__(self, whole: Gathered, found: Meetings) -> None:
        self.units: Units = units_of(whole.who)
        self.clocks: Clocks = clocks_of(found, self.units, whole.who)
        found = add_exchange_waits(found, self.units, whole.who, self.clocks)
        self.whole, self.found = whole, found
        self.waits_ps = found.by_unit(len(self.units), found.stood_ps.__getitem__)
        self.axes: list[MeshAxis] = axes_of(found, self.units)
        self.stage: I64 = stages_of(self.axes, len(self.units))
        self.typical: Typical = typical_of(found, self.stage)
        self.waves: Waves = waves_of(found)
        self.delays = delays_of(found, self.typical, self.waves)
        self.replays = PodReplays(found, self.typical, self.waves)
        families = families_of(self.units, self.axes)
        excess = _excesses_of(whole, self.stage, max(len(whole.steps) + whole.left_out, 1))
        self.search = Search(found, self.units, self.typical, self.replays, families, excess)

    def report(self, session: str, files: Sequence[tuple[str, str, str]], expected: int) -> Pod:
        suspects = self.search.run()
        causes = Causes(self.whole, self.stage)
        step, typical = self.search.recorded_ps, self.search.typical_ps
        verdict = "suspects" if suspects else "even"
        if not suspects and step - typical > _UNEVEN * step:
            verdict = "rotating"
        table = self._suspects(suspects, causes)
        devices = self._devices()
        finite = self.clocks.uncertainty_ps[np.isfinite(self.clocks.uncertainty_ps)]
        return Pod(
            session=session,
            hosts=tuple(one.host for one in self.whole.who[:1000]),
            diagnostics=self._diagnostics(files, expected),
            headline=self._headline(table, verdict),
            recordings=len(self.whole.who),
            expected=max(expected, len(self.whole.who)),
            devices_found=len(self.units),
            counted_steps=self.search.steps,
            step_ms=ms(step),
            typical_step_ms=ms(typical),
            lost_frac=(step - typical) / step if step > 0 else float("nan"),
            clock_u_us=us(float(np.median(finite))) if len(finite) else float("nan"),
            verdict=verdict,
            suspects=table,
            costs=self._costs(suspects),
            evidence=evidence_of(
                suspects, self.found, self.typical, self.units, self.whole.who, self.clocks
            ),
            steps=self._steps(),
            axes=self._axes(),
            devices=devices,
            links=self._links(),
            files=_files(files),
            map=map_of(self.units, self.axes, devices),
        )

    def _headline(self, suspects: Table[SuspectRow], verdict: str) -> str:
        step = ms(self.search.recorded_ps)
        lost = ms(self.search.recorded_ps - self.search.typical_ps)
        if verdict == "even":
            return (
                f"No device or host stands out: if all were typical, the step of "
                f"{time_words(step)} would be {time_words(max(lost, 0.0))} shorter."
            )
        if verdict == "rotating":
            return (
                f"{time_words(lost)} of {time_words(step)} of each step are lost to late members, "
                "a different one each time: the work is uneven, no device is slow."
            )
        first = next(suspects.rows())
        late = first["since_step"]
        since = "" if late is None else f" since step {late:.0f}"
        why = f": {first['evidence']}" if first["evidence"] else ""
        # A cost within its standard error may be none.
        costs = "costs" if first["cost_ms"] > first["error_ms"] else "may cost"
        return (
            f"{first['name']} {costs} {time_words(first['cost_ms'])} of each {time_words(step)} "
            f"step ({share_words(first['cost_frac'], 1)}, ± "
            f"{time_words(first['error_ms'])}){since}{why}. "
            f"Without it {time_words(step - first['saving_ms'])}."
        )

    def _suspects(self, suspects: list[Suspect], causes: Causes) -> Table[SuspectRow]:
        steps, number = self.search.steps, self.found.steps
        why = [causes.of(one, steps) for one in suspects]
        began = [one.first_late > 0 and one.first_late < len(number) for one in suspects]
        return Table(
            SuspectRow,
            {
                "name": [one.where.name for one in suspects],
                "kind": [one.where.kind for one in suspects],
                "devices": [int(one.where.units.sum()) for one in suspects],
                "cost_ms": [ms(one.cost_ps) for one in suspects],
                "cost_frac": [one.cost_ps / self.search.recorded_ps for one in suspects],
                "error_ms": [ms(one.error_ps) for one in suspects],
                "saving_ms": [ms(one.saving_ps) for one in suspects],
                "cause": [one.id for one in why],
                "evidence": [one.evidence for one in why],
                "pattern": [one.pattern for one in why],
                "late_frac": [one.late_frac for one in suspects],
                "since_step": [
                    float(number[one.first_late]) if late else math.nan
                    for one, late in zip(suspects, began, strict=True)
                ],
                "z": [one.z for one in suspects],
                "work_ratio": [one.ratio for one in suspects],
                "peers": [one.peers for one in suspects],
            },
        )

    def _costs(self, suspects: list[Suspect]) -> Table[CostRow]:
        """The recorded step in parts: typical, what fixing suspects one by one saves, the rest."""
        units = np.zeros(len(self.units), dtype=np.bool_)
        nodes = np.zeros(len(self.found.size), dtype=np.bool_)
        parts = {"typical step": self.search.typical_ps}
        before = self.search.recorded_ps
        for one in suspects:
            if one.kind == "work":
                units |= one.where.units
            elif one.kind == "link":
                nodes[self.found.node[self.found.of_unit(one.where.units)]] = True
            else:
                continue
            now = self.replays.length_ps(units, nodes) / self.search.steps
            parts[one.where.name] = before - now
            before = now
        parts["other members, in turn"] = before - self.search.typical_ps
        return Table(
            CostRow, {"part": list(parts), "time_ms": [ms(value) for value in parts.values()]}
        )

    def _devices(self) -> Table[DeviceRow]:
        found, units, steps = self.found, self.units, self.search.steps
        size = len(units)
        tells = found.of_node(found.tells | found.met)
        met = found.by_unit(size, tells.__getitem__)
        last = found.by_unit(size, lambda rows: tells[rows] & (found.wait_ps(rows) == 0))
        moved = found.by_unit(size, self._moved_ps) / steps
        own = found.by_unit(size, found.stretch_ps)
        usual = found.by_unit(size, self.typical.stretch_ps)
        clock, u = self.clocks.offset_ps, self.clocks.uncertainty_ps
        return Table(
            DeviceRow,
            {
                "host": list(units.host),
                "device": list(units.name),
                "rank": units.rank,
                "place": self._places(),
                "charged_ms": self.delays.own_ps / steps / 1e9,
                "waits_ms": self.waits_ps / steps / 1e9,
                "transfers_ms": moved / 1e9,
                "input_ms": self.whole.parts_ps["input"] / 1e9,
                "last_frac": _ratio(last, met),
                "work_ratio": _ratio(own, usual),
                "clock_offset_ms": clock[units.recording] / 1e9,
                "clock_u_us": np.where(np.isfinite(u), u, np.nan)[units.recording] / 1e6,
            },
        )

    def _moved_ps(self, rows: slice) -> I64:
        """What collectives take that is not waiting."""
        return self.found.duration_ps[rows] - self.found.wait_ps(rows)

    def _passed_ps(self, rows: slice) -> I64:
        """What collectives take of a step: transfers, and waits in which nothing else is done."""
        return self._moved_ps(rows) + np.maximum(self.found.stood_ps[rows], 0)

    def _places(self) -> list[str]:
        columns = [
            [f"{axis.name} {one}" if one >= 0 else "" for one in axis.place.tolist()]
            for axis in self.axes
        ]
        if not columns:
            return [""] * len(self.units)
        return [" · ".join(filter(None, row)) for row in zip(*columns, strict=True)]

    def _steps(self) -> Table[PodStepRow]:
        found, size = self.found, len(self.units)
        own_ps = found.by_step(size, found.own_ps)
        waits_ps = found.by_step(size, found.stood_ps.__getitem__)
        own, waits = own_ps / 1e9, waits_ps / 1e9
        whole = own + found.by_step(size, self._passed_ps) / 1e9
        slowest = own.argmax(axis=0).tolist()
        worked = np.quantile(own, [0.01, 0.1, 0.5, 0.9, 0.99], axis=0)
        waited = np.quantile(waits, [0.1, 0.5, 0.9], axis=0)
        names = [f"{self.units.name[one]} of {self.units.host[one]}" for one in slowest]
        numbers = found.steps if len(found.steps) else np.zeros(1, dtype=np.int64)
        return Table(
            PodStepRow,
            {
                "step_num": numbers,
                "time_ms": whole.max(axis=0),
                "work_p1_ms": worked[0],
                "work_p10_ms": worked[1],
                "work_p50_ms": worked[2],
                "work_p90_ms": worked[3],
                "work_p99_ms": worked[4],
                "slowest_ms": own.max(axis=0),
                "waits_p10_ms": waited[0],
                "waits_p50_ms": waited[1],
                "waits_p90_ms": waited[2],
                "slowest": names,
            },
        )

    def _axes(self) -> Table[AxisRow]:
        found, steps = self.found, self.search.steps
        rows: list[tuple[str, int, int, float, float, float]] = []
        size = len(self.units)
        own = found.by_unit(size, found.own_ps) / steps / 1e9
        charged = self.delays.own_ps / steps / 1e9
        waits = self.waits_ps / steps / 1e9
        for axis in self.axes:
            for one in range(axis.size):
                mine = axis.place == one
                amounts = [float(values[mine].mean()) for values in (own, charged, waits)]
                rows.append((axis.name, one, int(mine.sum()), amounts[0], amounts[1], amounts[2]))
        names = ("axis", "coordinate", "devices", "work_ms", "charged_ms", "waits_ms")
        columns = zip(*rows, strict=True) if rows else ([] for _ in names)
        return Table(
            AxisRow, {name: list(column) for name, column in zip(names, columns, strict=True)}
        )

    def _links(self) -> Table[LinkRow]:
        """The communicators with most transfer time."""
        found, steps = self.found, self.search.steps
        count = len(found.communicators)
        of_node = found.communicator
        met = np.bincount(of_node, minlength=count)
        took = np.bincount(of_node, found.transfer_ps, count)
        usual = np.bincount(of_node, self.typical.transfer_ps(), count)
        waits = np.zeros(count)
        for piece in found.pieces():
            waits += np.bincount(of_node[found.node[piece]], found.stood_ps[piece], count)
        members = np.zeros(count, dtype=np.int64)
        np.maximum.at(members, of_node, found.size)
        first = np.full(count, len(self.units) - 1)
        unit, communicator = found.memberships()
        np.minimum.at(first, communicator, unit)
        kept = np.argsort(-took, kind="stable")[:_MOST_LINKS]
        kept = kept[met[kept] > 0]
        names = [
            f"{self.units.name[one]} of {self.units.host[one]}" for one in first[kept].tolist()
        ]
        return Table(
            LinkRow,
            {
                "collective": [found.communicators[one].kind for one in kept.tolist()],
                "label": [found.communicators[one].label for one in kept.tolist()],
                "members": members[kept],
                "first": names,
                "meetings": met[kept],
                "transfer_ms": took[kept] / steps / 1e9,
                "waits_ms": waits[kept] / steps / 1e9,
                "ratio": _ratio(took, usual)[kept],
            },
        )

    def _absent(self, expected: int) -> str:
        """The ranks without a recording, where all others say theirs."""
        ranks = {one.rank for one in self.whole.who}
        absent = [rank for rank in range(expected) if rank not in ranks]
        if -1 in ranks or len(absent) != expected - len(self.whole.who):
            return ""
        more = " and more" if len(absent) > _NAMED else ""
        return f": rank {', '.join(map(str, absent[:_NAMED]))}{more}"

    def _diagnostics(
        self, files: Sequence[tuple[str, str, str]], expected: int
    ) -> tuple[Diagnostic, ...]:
        found: list[Diagnostic] = []
        missing = expected - len(self.whole.who)
        if missing > 0:
            text = f"{missing:,} of {expected:,} recordings are missing{self._absent(expected)}."
            found.append(Diagnostic("host-missing", "error", text))
        failed = [name for name, state, _ in files if state == "failed"]
        if failed:
            text = f"{len(failed):,} recordings did not open: {', '.join(failed[:5])}."
            found.append(Diagnostic("host-missing", "error", text))
        found += [Diagnostic("pod-left-out", "warning", text) for text in self.found.left_out]
        if self.waves.lost:
            text = (
                f"{self.waves.lost:,} collectives wait for one another in a circle: wrong matches."
            )
            found.append(Diagnostic("pod-circle", "warning", text))
        if self.whole.guessed:
            text = (
                "These recordings do not say who meets whom; devices that do the same in the same "
                "order were taken to meet."
            )
            found.append(Diagnostic("pod-guessed-groups", "warning", text))
        if len(np.unique(self.clocks.component)) > 1:
            text = "Some recordings share no collective with the others; their clocks are apart."
            found.append(Diagnostic("pod-clocks-apart", "warning", text))
        for one in self.whole.who:
            found += [Diagnostic("pod-recording", "warning", note, one.host) for note in one.notes]
        return tuple(found[:100])


def _files(files: Sequence[tuple[str, str, str]]) -> Table[FileRow]:
    names = ("name", "state", "reason")
    columns = zip(*files, strict=True) if files else ([] for _ in names)
    return Table(FileRow, {name: list(one) for name, one in zip(names, columns, strict=True)})


def _ratio(above: NDArray[np.generic], below: NDArray[np.generic]) -> F64:
    top, bottom = above.astype(np.float64), below.astype(np.float64)
    found: F64 = np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0)
    return found


def _excesses_of(gathered: Gathered, stage: I64, steps: int) -> dict[str, F64]:
    """By measure (causes, and ops that take much time), how much more than peers, ps a step.

    Devices of one kind differ by a few percent in what they compute, so a host that waits 3 % of
    the step for input hides in the sum; it does not in the time for input.
    """
    measures = dict(gathered.parts_ps)
    op, unit, total_ps = (gathered.ops[name] for name in ("op", "unit", "total_ps"))
    totals = np.zeros(len(gathered.op_names), dtype=np.int64)
    np.add.at(totals, op, total_ps)
    enough = np.flatnonzero(totals >= _LEAST_OF_TIME * totals.sum())
    # Ops are by name, so that of two with the same time the one with the later name is the larger.
    for one in enough[np.argsort(totals[enough], kind="stable")][-_MOST_OPS:].tolist():
        values = np.zeros(len(stage))
        values[unit[op == one]] = total_ps[op == one] / steps
        measures[f"op {gathered.op_names[one]}"] = values
    return {name: values - _peers_median(values, stage) for name, values in measures.items()}


def _peers_median(values: F64, stage: I64) -> F64:
    found = np.zeros(len(values))
    for one in np.unique(stage):
        mine = stage == one
        found[mine] = np.median(values[mine])
    return found


def add_exchange_waits(
    found: Meetings, units: Units, who: Sequence[Who], clocks: Clocks
) -> Meetings:
    """Add the waits in exchanges of many to many, which durations alone do not show.

    An all-to-all, or messages among many, ends on each member when its own parts have come; a
    member that leaves early was not the last to come. Once symmetric collectives have aligned the
    clocks, arrivals show the waits: members wait for the last to arrive if all were there before
    the first left, and their clocks are known. Such an exchange *met*; the Workers page asks the
    same.
    """
    rows = np.flatnonzero(~found.of_node(found.tells))
    if not len(rows):
        return found
    node = found.node[rows]
    recording = units.recording[found.unit[rows]]
    duration = found.duration_ps[rows]
    start = found.start_ps[rows] + _shifts(who, clocks)[recording]
    last = np.full(len(found.size), np.iinfo(np.int64).min)
    np.maximum.at(last, node, start)
    leaves = np.full(len(found.size), np.iinfo(np.int64).max)
    np.minimum.at(leaves, node, start + duration)
    met = (last < leaves) & _shares_clock(found, rows, clocks.component[recording])
    waits = np.where(met[node], np.clip(last[node] - start, 0, duration), 0)
    by_clock = np.zeros(len(found), dtype=np.int64)
    by_clock[rows] = waits
    stood = found.stood_ps.copy()
    stood[rows] = np.minimum(waits, found.exposed_ps)
    transfer = found.transfer_ps.copy()
    np.minimum.at(transfer, node, duration - waits)
    return replace(found, met=met, by_clock_ps=by_clock, stood_ps=stood, transfer_ps=transfer)


def _shifts(who: Sequence[Who], clocks: Clocks) -> I64:
    """By recording, what brings its times to the median clock."""
    origin = np.asarray([one.origin_ns for one in who], dtype=np.int64)
    apart = np.clip(origin - origin[0], -_FAR_NS, _FAR_NS) * _PS_PER_NS
    offset = np.where(np.isfinite(clocks.offset_ps), clocks.offset_ps, 0.0)
    shift: I64 = apart - offset.astype(np.int64)
    return shift


def _shares_clock(found: Meetings, rows: I64, component: I64) -> Bool:
    """By meeting, whether several members are here and symmetric collectives tie their clocks."""
    node = found.node[rows]
    low = np.full(len(found.size), np.iinfo(np.int64).max)
    high = np.full(len(found.size), -1)
    np.minimum.at(low, node, component)
    np.maximum.at(high, node, component)
    one: Bool = (low == high) & (found.size > 1)
    return one
