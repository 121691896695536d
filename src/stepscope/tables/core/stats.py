"""The stats tables ask for, pivoted out of the long form in one pass per host."""

from __future__ import annotations

from threading import Lock

import numpy as np

from stepscope.columns import StatColumn, look_up, metadata_stats_by_name, stats_by_name
from stepscope.columns.space import I32, I64, Space
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.profile import Host, derived

# The per-event stats that tables read, but those below. One list: the stats are walked once.
WANTED = (
    names.STEP_NUM,
    names.ROOT_LEVEL,
    names.GROUP_ID,
    names.STEP_NAME,
    names.GRAPH_TYPE,
    names.IS_EAGER,
    names.IS_FUNC,
    names.TF_FUNCTION_CALL,
    names.TRACING_COUNT,
    names.CORRELATION_ID,
    names.TF_OP,
    names.ANNOTATION,
    names.HLO_OP,
    names.HLO_MODULE,
    names.PROGRAM_ID,
    names.RUN_ID,
    names.XLA_OP_NAME,
    names.KERNEL_DETAILS,
    names.MEMCPY_DETAILS,
    names.DEVICE_OFFSET_PS,
    names.DEVICE_DURATION_PS,
    names.INPUT_STAGE_NAME,
    names.FLOPS,
    names.BYTES_ACCESSED,
    names.MODEL_FLOPS,
    names.DMA_STALL_PS,
    names.SOURCE,
    names.LAUNCH_ORIGIN,
    names.SEQUENCE_NUMBER,
    names.COLLECTIVE_NUMBER,
)
# Nearly every op of PyTorch's has these, and few tables ask for them: each is looked for by itself
# when one does, and until then takes no memory.
WANTED_LATER = (names.SHAPE, names.ARGUMENTS)


class EventStats:
    """Per-event stats by name; converted when first asked for."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._columns = stats_by_name(space, WANTED)
        self._looking = Lock()

    def rows(self, name: str) -> I64:
        """The event rows that have the stat, ascending; converts nothing."""
        return self._column(name).rows

    def ints(self, name: str) -> Ints:
        """The stat's values as integers."""
        column = self._column(name)
        return Ints(column.rows, column.ints)

    def texts(self, name: str) -> StatTexts:
        """The stat's values as text."""
        return _texts(self._column(name))

    def texts_between(self, name: str, first: int, last: int) -> StatTexts:
        """The values as text of two events and those between them; keeps nothing."""
        if name in self._columns:
            return self.texts(name)
        return _texts(stats_by_name(self._space, (name,), first, last + 1)[name])

    def _column(self, name: str) -> StatColumn:
        if name not in self._columns:
            with self._looking:
                if name not in self._columns:
                    self._columns |= stats_by_name(self._space, (name,))
        return self._columns[name]


def _texts(column: StatColumn) -> StatTexts:
    said = column.texts
    return StatTexts(said.rows, said.codes, said.values)


@dataclass(frozen=True, eq=False, slots=True)
class Ints:
    """Integer values of one stat: ``rows`` are event rows, ascending."""

    rows: I64
    values: I64

    def at(self, wanted: I64, default: int) -> I64:
        """The value of each wanted event row, ``default`` where it has none."""
        return look_up(self.rows, self.values, wanted, default)


@dataclass(frozen=True, eq=False, slots=True)
class StatTexts:
    """Text values of one stat: ``texts[codes[i]]`` belongs to event ``rows[i]``."""

    rows: I64
    codes: I32
    texts: list[str]

    def at(self, wanted: I64) -> I64:
        """The code of each wanted event row, -1 where it has none."""
        return look_up(self.rows, self.codes.astype(np.int64), wanted, -1)


@derived
def event_stats(host: Host) -> EventStats:
    """All stats in ``WANTED`` and ``WANTED_LATER`` of this host's events."""
    return EventStats(host.space)


def metadata_texts(host: Host, name: str) -> dict[int, str]:
    """``{row of Space.event_metadata: text}`` of a stat that all events of a name share."""
    column = metadata_stats_by_name(host.space, (name,))[name]
    return dict(zip(column.rows.tolist(), column.texts.texts(), strict=True))


def metadata_ints(host: Host, name: str) -> dict[int, int]:
    """``{row of Space.event_metadata: number}`` of a stat that all events of a name share."""
    column = metadata_stats_by_name(host.space, (name,))[name]
    return dict(zip(column.rows.tolist(), column.ints.tolist(), strict=True))
