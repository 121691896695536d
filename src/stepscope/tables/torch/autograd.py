"""Ops that PyTorch's autograd numbers: which forward op a backward op is the gradient of."""

from __future__ import annotations

import numpy as np

from stepscope.columns import innermost
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats


@dataclass(frozen=True, eq=False, slots=True)
class NumberedOps:
    """Ops with a sequence number of autograd's.

    Attributes:
        row: Its event.
        number: A backward op has that of its forward op.
        thread: The id of the thread it ran on.
        start_ps, end_ps: When.
        backward: Whether it computes a gradient.
    """

    row: I64
    number: I64
    thread: I64
    start_ps: I64
    end_ps: I64
    backward: Bool

    def last_forward(self) -> I64:
        """The forward op of each number, by number: of several ops the last to begin."""
        rows = np.flatnonzero(~self.backward)
        rows = rows[np.lexsort((self.start_ps[rows], self.number[rows]))]
        number = self.number[rows]
        found: I64 = rows[np.append(number[1:] != number[:-1], True)] if len(rows) else rows
        return found

    def outermost(self) -> I64:
        """Forward ops that no other forward op runs, by number, then by time."""
        found = []
        for thread in np.unique(self.thread):
            rows = np.flatnonzero(~self.backward & (self.thread == thread))
            rows = rows[np.lexsort((-self.end_ps[rows], self.start_ps[rows]))]
            ended = np.maximum.accumulate(self.end_ps[rows])
            found.append(rows[np.append(True, self.start_ps[rows[1:]] >= ended[:-1])[: len(rows)]])
        rows = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
        outermost: I64 = rows[np.lexsort((self.start_ps[rows], self.number[rows]))]
        return outermost

    def _computed(self, thread: int, times: I64) -> I64:
        """The number of the gradient that a thread computes at each time; -1 for none."""
        mine = self.backward & (self.thread == thread)
        at = innermost(self.start_ps[mine], self.end_ps[mine], times)
        number: I64 = np.append(self.number[mine], -1)[at]
        return number

    def called_for(self, thread: int, times: I64) -> I64:
        """The event of the op that the program called, whose gradient a thread computes.

        An op notes the number that the next gradient will have: what it makes of gradients has the
        numbers from there to the next op's, however deep in it they are made.

        Returns:
            A row for each time; -1 where the thread computes no gradient, or none was recorded.
        """
        asked, called = self._computed(thread, times), self.outermost()
        if len(called) == 0:
            return np.full(len(times), -1, dtype=np.int64)
        place = np.searchsorted(self.number[called], asked, side="right") - 1
        known = (asked >= 0) & (place >= 0)
        found: I64 = np.where(known, self.row[called[np.maximum(place, 0)]], -1)
        return found

    def forward_of(self, thread: int, times: I64) -> tuple[I64, I64]:
        """When the op ran whose gradient a thread computes at each time.

        Returns:
            Its begin and end; -1 where the thread computes none, or it was not recorded.
        """
        asked, rows = self._computed(thread, times), self.last_forward()
        if len(rows) == 0:
            nothing = np.full(len(times), -1, dtype=np.int64)
            return nothing, nothing
        number = self.number[rows]
        place = np.minimum(np.searchsorted(number, asked), len(rows) - 1)
        known = (asked >= 0) & (number[place] == asked)
        start, end = self.start_ps[rows[place]], self.end_ps[rows[place]]
        return np.where(known, start, -1), np.where(known, end, -1)


@derived
def numbered_ops(host: Host) -> NumberedOps:
    """The numbered ops of a host; none where PyTorch did not record them."""
    space, stats = host.space, event_stats(host)
    numbers, said = stats.ints(names.SEQUENCE_NUMBER), stats.texts(names.ARGUMENTS)
    rows = numbers.rows
    ids = np.asarray([line.id for line in space.lines] or [0], np.int64)
    is_backward = np.asarray([*map(_is_backward, said.texts), False])
    start = space.events.start_ps[rows]
    return NumberedOps(
        row=rows,
        number=numbers.values,
        thread=ids[space.lines_of(rows)],
        start_ps=start,
        end_ps=start + space.length_ps[rows],
        backward=is_backward[said.at(rows)],
    )


def _is_backward(text: str) -> bool:
    """Whether an op's arguments name the thread of its forward op."""
    from stepscope.tables.torch.signature import arguments

    thread = arguments(text).get("Fwd thread id")
    return isinstance(thread, int) and thread > 0
