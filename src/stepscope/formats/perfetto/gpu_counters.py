"""Counters of GPUs, which a trace has in packets of their own: samples, and their names."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.columns.space import I64
from stepscope.formats.messages import numbers, submessages
from stepscope.formats.perfetto.packets import (
    Packet,
    PacketBatch,
    States,
    listed,
)
from stepscope.formats.xspace.cold_fields import DamageLog
from stepscope.records import dataclass, field
from stepscope.schema.xspace import Wire

F64 = NDArray[np.float64]
_MOST_GPUS: Final = 1 << 10
# A counter's number below, its writer's above.
_NUMBER_BITS: Final = 32
_NUMBERS, _WRITERS = (1 << 32) - 1, (1 << 30) - 1


class _Sample(IntEnum):
    """Fields of a packet's counters."""

    DESCRIBED = 1
    COUNTER = 2
    GPU = 3


class _Described(IntEnum):
    """Fields of a counter's description."""

    NUMBER = 1
    NAME = 2
    NUMERATOR = 7
    DENOMINATOR = 8


# Words of the enumeration of units, those that counters of GPUs come in.
_UNITS: Final = {
    1: "bit", 2: "kbit", 3: "Mbit", 4: "Gbit", 7: "B", 8: "kB", 9: "MB", 10: "GB", 11: "TB",
    13: "Hz", 14: "kHz", 15: "MHz", 16: "GHz", 19: "ns", 20: "us", 21: "ms", 22: "s", 28: "mW",
    29: "W", 30: "kW", 31: "J", 32: "V", 33: "A", 34: "°C", 36: "K", 37: "%",
    40: "instructions",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class GpuCounter:
    """The samples of one counter of one GPU, by time."""

    gpu: int
    name: str
    unit: str
    time_ns: I64
    value: F64


@dataclass
class GpuCounters:
    """The counters of a trace; later packets add to them."""

    _described: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)
    _samples: list[tuple[I64, I64, I64, F64]] = field(default_factory=list)

    def add(
        self, buffer: memoryview, batch: PacketBatch, states: States, damage: DamageLog
    ) -> None:
        """What some packets counted.

        Numbers of counters are a writer's own: those of two writers stay apart.
        """
        packet, begin, end = submessages(batch.fields, Packet.GPU_COUNTER)
        if not len(packet):
            return
        found, count = listed(buffer, begin, end, damage), len(packet)
        gpu = np.clip(numbers(found, _Sample.GPU, count), 0, _MOST_GPUS)
        writer = numbers(batch.fields, Packet.SEQUENCE, batch.count)[packet] & _WRITERS
        self._describe(buffer, *submessages(found, _Sample.DESCRIBED), writer, states, damage)
        of, low, high = submessages(found, _Sample.COUNTER)
        inner = listed(buffer, low, high, damage)
        number = numbers(inner, 1, len(of))
        value = np.full(len(of), np.nan)
        whole, real = inner.of(2, Wire.VARINT), inner.of(3, Wire.FIXED64)
        value[whole.parent] = whole.value.view(np.int64)
        value[real.parent] = real.value.view(np.float64)
        kept = np.isfinite(value)
        states.lose("hold no value of a counter", int((~kept).sum()))
        key = writer[of] << _NUMBER_BITS | (number & _NUMBERS)
        time = batch.time_ns[packet[of]]
        self._samples.append((gpu[of][kept], key[kept], time[kept], value[kept]))

    def _describe(
        self,
        buffer: memoryview,
        of: I64,
        begin: I64,
        end: I64,
        writer: I64,
        states: States,
        damage: DamageLog,
    ) -> None:
        owner, low, high = submessages(listed(buffer, begin, end, damage), 1)
        inner, count = listed(buffer, low, high, damage), len(owner)
        number = numbers(inner, _Described.NUMBER, count)
        above, below = (
            numbers(inner, one, count) for one in (_Described.NUMERATOR, _Described.DENOMINATOR)
        )
        name = [""] * count
        at, text_low, text_high = submessages(inner, _Described.NAME)
        for row, code in zip(
            at.tolist(), states.texts.codes(text_low, text_high).tolist(), strict=True
        ):
            name[row] = states.texts.list[code]
        for row in range(count):
            unit = _UNITS.get(int(above[row]), "")
            if unit and int(below[row]) in _UNITS:
                unit += f"/{_UNITS[int(below[row])]}"
            key = int(writer[of[owner[row]]]), int(number[row]) & _NUMBERS
            self._described[key] = name[row], unit

    def __bool__(self) -> bool:
        return any(len(gpu) for gpu, *_ in self._samples)

    def found(self, wall_ns: int) -> Iterator[GpuCounter]:
        """Each counter of each GPU, on the wall clock."""
        if not self:
            return
        gpu, key, time, value = (
            np.concatenate([one[at] for one in self._samples]) for at in range(4)
        )
        order = np.lexsort((time, key, gpu))
        gpu, key, time, value = gpu[order], key[order], time[order], value[order]
        changes = np.flatnonzero((np.diff(gpu) != 0) | (np.diff(key) != 0)) + 1
        for rows in np.split(np.arange(len(gpu)), changes):
            first = int(rows[0])
            writer, number = int(key[first]) >> _NUMBER_BITS, int(key[first]) & _NUMBERS
            name, unit = self._described.get((writer, number), ("", ""))
            label = name or f"counter {number}"
            yield GpuCounter(int(gpu[first]), label, unit, time[rows] + wall_ns, value[rows])
