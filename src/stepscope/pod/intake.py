"""What the join needs of each summary, in columns that grow as summaries come.

A summary is let go of once it is taken in: as they are, those of ten thousand hosts take gigabytes.
The order in which they come does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from sys import intern
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64
from stepscope.pod.rows import runs
from stepscope.records import dataclass, replace
from stepscope.summary.summary import Summary, Who

F64 = NDArray[np.float64]
Integers = NDArray[np.integer[Any]] | NDArray[np.bool_]

#: Parts of a step by the cause they stand for; collectives are waits, and waits are others' doing.
PARTS_OF_CAUSE: Final = {
    "compute": ("device_compute_16", "device_compute_32"),
    "copies": ("device_to_device", "host_to_device", "output"),
    "input": ("input",),
    "launch": ("kernel_launch",),
    "host": ("host_compute", "compilation", "host_wait", "other"),
}
# An op that takes less of a device's time explains nothing there.
_LEAST_OF_OPS: Final = 0.001
_GROWS_BY: Final = 8


class GrowingColumn:
    """A column that grows in place, and is widened when a value needs it.

    Args:
        kind: Type of the values while they fit.
    """

    def __init__(self, kind: type[np.generic]) -> None:
        self._data = np.empty(0, kind)
        self._size = 0

    def append(self, values: Integers) -> None:
        """Add values at the end."""
        end = self._size + len(values)
        if len(values) and self._data.dtype != np.bool_ and not self._fit(values):
            self._data = self._data.astype(np.int64)
        if end > len(self._data):
            # In place: nobody else has this array before ``values``.
            self._data.resize(end + end // _GROWS_BY, refcheck=False)
        self._data[self._size : end] = values
        self._size = end

    def _fit(self, values: Integers) -> bool:
        limits = np.iinfo(self._data.dtype)
        return bool(limits.min <= values.min() and values.max() <= limits.max)

    def take(self) -> Integers:
        """The whole column, which is empty afterwards."""
        found, self._data = self._data, np.empty(0, self._data.dtype)
        found.resize(self._size, refcheck=False)
        self._size = 0
        return found


@dataclass(frozen=True, slots=True)
class MeetingGroup:
    """Who meets, as the first of its recordings says.

    Attributes:
        kind, label: What they do, and what the program calls it.
        size: How many they are; 0 where that is not recorded.
    """

    kind: str
    label: str
    size: int


@dataclass(frozen=True, eq=False, slots=True)
class Gathered:
    """What was kept of all summaries, by rank and name of their recordings.

    Attributes:
        who: Whose the recordings are.
        rows: Collectives, by unit, then start: "unit", "communicator" (place in
            ``communicators``), "number", "numbered", "step", "start_ps", "duration_ps",
            "exposed_ps". The join empties it.
        communicators: By key.
        steps: Numbers of the steps that count on some unit, ascending.
        recorded: By step, on how many units it counts.
        left_out: How many others there are: not recorded whole, or warming up.
        stepping: How many units have steps at all.
        begin_ps: By unit, where its first step begins; 0 without steps.
        parts_ps: By cause, what each unit spends on it in its mean step.
        ops: One row per unit and op: "unit", "op" (place in ``op_names``), "count", "total_ps".
        op_names: Names of ops.
        guessed: Whether any recording leaves open who meets whom.
        largest: Members of the largest group that is known for sure.
    """

    who: tuple[Who, ...]
    rows: dict[str, Any]
    communicators: tuple[MeetingGroup, ...]
    steps: I64
    recorded: I64
    left_out: int
    stepping: int
    begin_ps: I64
    parts_ps: dict[str, F64]
    ops: dict[str, Any]
    op_names: tuple[str, ...]
    guessed: bool
    largest: int


class Intake:
    """Takes summaries in, one after another."""

    def __init__(self) -> None:
        self._who: list[Who] = []
        self._shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._row_counts: list[int] = []
        self._op_counts: list[int] = []
        self._rows = {
            "unit": GrowingColumn(np.int32),
            "communicator": GrowingColumn(np.int32),
            "number": GrowingColumn(np.int32),
            "numbered": GrowingColumn(np.bool_),
            "step": GrowingColumn(np.int32),
            "start_ps": GrowingColumn(np.int64),
            "duration_ps": GrowingColumn(np.int64),
            "exposed_ps": GrowingColumn(np.int64),
        }
        self._ops = {
            "unit": GrowingColumn(np.int32),
            "op": GrowingColumn(np.int32),
            "count": GrowingColumn(np.int32),
            "total_ps": GrowingColumn(np.int64),
        }
        self._steps = GrowingColumn(np.int32)
        self._by_device: list[tuple[I64, F64]] = []
        self._stepping = 0
        self._left_out = GrowingColumn(np.int32)
        self._codes: dict[str, int] = {}
        self._described: list[tuple[int, str, str, str, int]] = []
        self._op_codes: dict[str, int] = {}
        self._guessed, self._largest = False, 0

    def __len__(self) -> int:
        return len(self._who)

    def add(self, summary: Summary) -> None:
        """Keep what is needed of one more summary."""
        who, shared = summary.who, self._shared.setdefault
        # Most hosts have the same devices: one text for all.
        devices, kinds = shared(who.devices, who.devices), shared(who.kinds, who.kinds)
        self._who.append(replace(who, devices=devices, kinds=kinds))
        self._take_rows(summary)
        self._take_steps(summary)
        self._take_ops(summary)
        is_guess = summary.communicators["is_guess"]
        self._guessed |= bool(is_guess.any())
        sizes = np.where(is_guess, 0, summary.communicators["size"])
        self._largest = max(self._largest, int(sizes.max(initial=0)))

    def _take_rows(self, summary: Summary) -> None:
        table, who = summary.meetings, summary.who
        place = table["communicator"]
        met = summary.communicators
        texts = [met[name].tolist() for name in ("key", "kind", "label", "size")]
        codes = np.zeros(len(met["key"]), dtype=np.int64)
        for at, (key, kind, label, size) in enumerate(zip(*texts, strict=True)):
            code = self._codes.setdefault(key, len(self._codes))
            said = who.rank, who.host, intern(kind), intern(label), size
            if code == len(self._described):
                self._described.append(said)
            elif said < self._described[code]:
                self._described[code] = said
            codes[at] = code
        columns = {
            **{name: table[name] for name in self._rows if name in table},
            "unit": table["device"].astype(np.int32),
            "communicator": codes[place],
            "numbered": met["numbered"][place],
        }
        unit, start = columns["unit"], columns["start_ps"]
        earlier = (np.diff(unit) < 0) | ((np.diff(unit) == 0) & (np.diff(start) < 0))
        if earlier.any():
            order = np.lexsort((start, unit))
            columns = {name: column[order] for name, column in columns.items()}
        for name, column in columns.items():
            self._rows[name].append(column)
        self._row_counts.append(len(place))

    def _take_steps(self, summary: Summary) -> None:
        size = len(summary.who.devices)
        counts = summary.steps["counts"]
        self._left_out.append(summary.steps["step"][~counts])
        rows = counts if counts.any() else slice(None)
        table = {name: column[rows] for name, column in summary.steps.items()}
        device, step = table["device"].astype(np.int64), table["step"]
        order = np.lexsort((step, device))
        self._steps.append(step[order][runs(device[order], step[order])])
        self._stepping += size if len(step) else 0
        begin = np.full(size, np.iinfo(np.int64).max)
        np.minimum.at(begin, device, table["begin_ps"])
        begin[np.bincount(device, minlength=size) == 0] = 0
        steps = np.maximum(np.bincount(device, minlength=size), 1)
        causes = np.zeros((len(PARTS_OF_CAUSE), size))
        for place, parts in enumerate(PARTS_OF_CAUSE.values()):
            for part in parts:
                causes[place] += np.bincount(device, table[f"{part}_ps"], size)
        self._by_device.append((begin, causes / steps))

    def _take_ops(self, summary: Summary) -> None:
        table = summary.ops
        device, total = table["device"].astype(np.int64), table["total_ps"]
        of_device = np.bincount(device, total, len(summary.who.devices))
        kept = np.flatnonzero(total >= _LEAST_OF_OPS * of_device[device])
        names = table["op"][kept].tolist()
        codes = [self._op_codes.setdefault(name, len(self._op_codes)) for name in names]
        self._ops["unit"].append(device[kept])
        self._ops["op"].append(np.asarray(codes, dtype=np.int64))
        self._ops["count"].append(table["count"][kept])
        self._ops["total_ps"].append(total[kept])
        self._op_counts.append(len(kept))

    def gathered(self) -> Gathered:
        """All of it, in one order; nothing can be added afterwards."""
        # By rank, then name: the order in which files came must not matter.
        order = sorted(
            range(len(self._who)), key=lambda one: (self._who[one].rank, self._who[one].host)
        )
        who = tuple(self._who[one] for one in order)
        sizes = np.asarray([len(one.devices) for one in who], dtype=np.int64)
        first = np.append(0, np.cumsum(sizes))[:-1]
        rows, ops = (
            {name: _ordered(column.take(), counts, order) for name, column in columns.items()}
            for columns, counts in ((self._rows, self._row_counts), (self._ops, self._op_counts))
        )
        for columns, counts in ((rows, self._row_counts), (ops, self._op_counts)):
            many = np.asarray(counts, dtype=np.int64)[order]
            columns["unit"] += np.repeat(first.astype(np.int32), many)
        keys = sorted(self._codes)
        place = np.empty(len(keys), dtype=np.int32)
        place[[self._codes[key] for key in keys]] = np.arange(len(keys))
        rows["communicator"] = place[rows["communicator"]]
        ops_by_name = sorted(self._op_codes)
        place = np.empty(len(ops_by_name), dtype=np.int32)
        place[[self._op_codes[name] for name in ops_by_name]] = np.arange(len(ops_by_name))
        ops["op"] = place[ops["op"]]
        described = [self._described[self._codes[key]] for key in keys]
        steps, recorded = np.unique(self._steps.take(), return_counts=True)
        begins = [self._by_device[one][0] for one in order]
        causes = [self._by_device[one][1] for one in order]
        whole = np.concatenate([np.zeros((len(PARTS_OF_CAUSE), 0)), *causes], axis=1)
        return Gathered(
            who=who,
            rows=rows,
            communicators=tuple(MeetingGroup(*one[2:]) for one in described),
            steps=steps.astype(np.int64),
            recorded=recorded,
            left_out=len(np.setdiff1d(self._left_out.take(), steps)),
            stepping=self._stepping,
            begin_ps=np.concatenate([np.zeros(0, np.int64), *begins]),
            parts_ps=dict(zip(PARTS_OF_CAUSE, whole, strict=True)),
            ops=ops,
            op_names=tuple(ops_by_name),
            guessed=self._guessed,
            largest=self._largest,
        )


def gathered(summaries: Iterable[Summary]) -> Gathered:
    """What the join needs of these summaries."""
    intake = Intake()
    for one in summaries:
        intake.add(one)
    return intake.gathered()


def _ordered(column: Integers, counts: list[int], order: list[int]) -> Integers:
    """The pieces of a column, of so many rows each, in another order."""
    if order == list(range(len(order))):
        return column
    ends = np.cumsum(counts).tolist()
    return np.concatenate([column[ends[one] - counts[one] : ends[one]] for one in order])
