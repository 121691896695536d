"""What the operations of a pipeline of stages wait for: the schedule of a training step.

The order of the lowest replica in the first step is that of all lanes. Waiting is of these kinds:

* A stage computes one micro-batch after another, in the order recorded.
* Messages of one direction and side (forward or backward, sent or received) follow one another.
* A message is sent when what it carries is computed; a micro-batch begins when its message is
  there; a receive is posted when the previous micro-batch of its direction is done. The first
  backward message is posted with the second to last forward micro-batch before backward begins.
* The n-th message sent is the n-th received by the next stage; the last stage's next is the first
  where a stage has several parts of the model.
* The first micro-batch of a part of the model waits for its parameters (all-gather).
* After the last micro-batch: garbage collection, gradients of layer norms and embeddings, of all
  others (reduce-scatter), clipping, optimizer. Where gradients are reduced while computing goes on
  (there is a separate all-reduce), each waits for the last micro-batch of its part instead.
* First and last stage meet for the embeddings, all stages and replicas for clipping, all replicas
  of a stage for parameters and gradients.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from stepscope.columns.space import I64
from stepscope.errors import StepscopeError
from stepscope.pod.what_if.operations import Operations
from stepscope.pod.what_if.replay import ReplaySchedule, in_order

FORWARD: Final = "forward-compute"
BACKWARD: Final = "backward-compute"
GATHER: Final = "params-all-gather"
SCATTER: Final = "grads-reduce-scatter"
SEPARATE: Final = "separate-grads-all-reduce"
LAYER_NORM: Final = "layernorm-grads-all-reduce"
EMBEDDING: Final = "embedding-grads-all-reduce"
CLIP: Final = "optimizer-clip-main-grad"
OPTIMIZER: Final = "optimizer"
COLLECT: Final = "gc"
MESSAGES: Final = ("forward-send", "forward-recv", "backward-send", "backward-recv")
COMPUTING: Final = frozenset((FORWARD, BACKWARD, OPTIMIZER, COLLECT))
_GLOBAL: Final = frozenset((GATHER, SCATTER, SEPARATE, CLIP))
_TRANSFERS: Final = _GLOBAL | {*MESSAGES, EMBEDDING}
KINDS: Final = COMPUTING | _TRANSFERS | {LAYER_NORM}
# Clocks of a pipeline's stages may differ by this much.
_CLOCKS_S: Final = 5e-5


class _Message(NamedTuple):
    """Where a message goes: by direction, +1 or −1 stages, and who is the other side."""

    direction: str
    is_send: bool
    stages: int
    other: str


_ROUTES: Final = {
    "forward-send": _Message("forward", True, 1, "forward-recv"),
    "forward-recv": _Message("forward", False, -1, "forward-send"),
    "backward-send": _Message("backward", True, -1, "backward-recv"),
    "backward-recv": _Message("backward", False, 1, "backward-send"),
}


def schedule_of(found: Operations) -> ReplaySchedule:
    """The schedule of a table's operations.

    Raises:
        StepscopeError: They wait for one another in a circle, so they are of no pipeline known.
    """
    builder = _Builder(found)
    for stage in range(len(found.stages)):
        builder.add_stage(stage)
    meetings = builder.meetings()
    order = in_order(builder.before, meetings)
    if order is None:
        raise StepscopeError(
            "These operations wait for one another in a circle.",
            why="Their order is of no pipeline schedule that is known here.",
            hint="Check the order of start_ts and the numbers in seq_id, mc and gmc.",
            slug="no-operations",
        )
    return ReplaySchedule(
        before=tuple(tuple(sorted(wanted)) for wanted in builder.before),
        meetings=order,
        is_transfer=np.asarray([kind in _TRANSFERS for kind in found.kind]),
        is_global=np.asarray([kind in _GLOBAL for kind in found.kind]),
    )


class _Builder:
    def __init__(self, found: Operations) -> None:
        self.found = found
        self.start = found.start_s[:, 0, 0]
        self.end = found.end_s[:, 0, 0]
        self.before: list[set[int]] = [set() for _ in found.kind]
        self.by_place: dict[tuple[str, int], list[int]] = {}
        for one in np.lexsort((found.seq, self.start)).tolist():
            place = found.kind[one], int(found.stage[one])
            self.by_place.setdefault(place, []).append(one)
        # By type and stage, the messages that have another side, in order.
        self.carried: dict[tuple[str, int], list[int]] = {}

    def add_stage(self, stage: int) -> None:
        """All that the operations of one stage wait for on that stage."""
        computed = self._merged(stage, FORWARD, BACKWARD)
        self._chain(computed)
        for kind in MESSAGES:
            self._chain(self._of(kind, stage))
            self._add_messages(kind, stage)
        self._first_backward(stage, computed)
        self._chain(self._merged(stage, GATHER, SCATTER))
        self._parameters(stage)
        self._finish_compute(stage, computed)

    def meetings(self) -> list[tuple[int, ...]]:
        """Operations that end together; each operation is in one."""
        stages = len(self.found.stages)
        together = [tuple(self._all(CLIP, range(stages)))]
        together.append(tuple(self._all(EMBEDDING, sorted({0, stages - 1}))))
        for (kind, stage), mine in self.carried.items():
            route = _ROUTES[kind]
            if route.is_send:
                theirs = self.carried.get((route.other, (stage + route.stages) % stages), [])
                together += list(zip(mine, theirs, strict=False))
        together = [members for members in together if members]
        met = {one for members in together for one in members}
        alone = [(one,) for one in range(len(self.found.kind)) if one not in met]
        return together + alone

    def _of(self, kind: str, stage: int) -> list[int]:
        return self.by_place.get((kind, stage), [])

    def _all(self, kind: str, stages: range | list[int]) -> list[int]:
        return [one for stage in stages for one in self._of(kind, stage)[:1]]

    def _merged(self, stage: int, *kinds: str) -> list[int]:
        """Operations of these types on a stage, in order."""
        ones = [one for kind in kinds for one in self._of(kind, stage)]
        return sorted(ones, key=lambda one: (self.start[one], self.found.seq[one]))

    def _numbered(self, kind: str, stage: int) -> list[int]:
        return sorted(self._of(kind, stage), key=lambda one: self.found.seq[one])

    def _chain(self, ones: list[int]) -> None:
        for earlier, later in pairwise(ones):
            self.before[later].add(earlier)

    def _add_messages(self, kind: str, stage: int) -> None:
        """Tie the messages of a kind to the micro-batches that make or need them."""
        route = _ROUTES[kind]
        computed = self._numbered(f"{route.direction}-compute", stage)
        if not computed:
            return
        ones = self._launched(kind, stage, computed)
        # The very first receive of a pipeline may be missing: there is nothing to receive.
        first = int(not route.is_send and len(ones) + 1 == len(computed))
        for place, one in enumerate(ones[: len(computed) - first], first):
            if route.is_send:
                self.before[one].add(computed[place])
            else:
                self.before[computed[place]].add(one)
                if place:
                    self.before[one].add(computed[place - 1])
            if self._has_other_side(computed[place], stage, route.stages):
                self.carried.setdefault((kind, stage), []).append(one)

    def _launched(self, kind: str, stage: int, computed: list[int]) -> list[int]:
        """Messages that can belong to a micro-batch; recorders note some that were never sent."""
        if _ROUTES[kind].is_send:
            first_end = self.end[computed].min() - _CLOCKS_S
            return [one for one in self._of(kind, stage) if self.end[one] >= first_end]
        last_start = self.start[computed].max() + _CLOCKS_S
        return [one for one in self._of(kind, stage) if self.start[one] <= last_start]

    def _has_other_side(self, computed: int, stage: int, stages: int) -> bool:
        """Whether the part of the model that a micro-batch ran on has a neighbour there."""
        found = self.found
        size = len(found.stages)
        part = int(found.model_chunk[computed])
        if part < 0:
            part = int(found.chunk[computed]) * size + stage
        return 0 <= part + stages < size * (int(found.chunk.max()) + 1)

    def _first_backward(self, stage: int, computed: list[int]) -> None:
        kinds = [self.found.kind[one] for one in computed]
        first = kinds.index(BACKWARD) if BACKWARD in kinds else 0
        if first >= 2:
            for kind in ("backward-recv", "backward-send"):
                for one in self._numbered(kind, stage)[:1]:
                    self.before[one].add(computed[first - 2])

    def _parameters(self, stage: int) -> None:
        """The first micro-batch of a part of the model waits for the last gather of it."""
        chunk = self.found.chunk
        last = {int(chunk[one]): one for one in self._numbered(GATHER, stage)}
        for part, gather in last.items():
            mine = [one for one in self._of(FORWARD, stage) if chunk[one] == part]
            if mine:
                self.before[mine[0]].add(gather)

    def _finish_compute(self, stage: int, computed: list[int]) -> None:
        scattered = self._numbered(SCATTER, stage)
        collect = self._of(COLLECT, stage)[:1]
        ends = [self.end[one] for one in computed]
        last = [computed[int(np.argmax(ends))]] if computed else []
        for one in collect:
            self.before[one].update(last)
        tail = [*self._all(LAYER_NORM, [stage]), *self._all(EMBEDDING, [stage])]
        first = collect or last
        if any(kind == SEPARATE for kind in self.found.kind):
            self._gradients(stage, scattered)
            first = [*first, *scattered[-1:]]
            tail += self._all(SEPARATE, [stage])
        else:
            tail += scattered
        tail += [*self._all(CLIP, [stage]), *self._all(OPTIMIZER, [stage])]
        for one in tail[:1]:
            self.before[one].update(first)
        self._chain(tail)

    def _gradients(self, stage: int, scattered: list[int]) -> None:
        """The first reduction of a part of the model waits for the last micro-batch of it."""
        chunk: I64 = self.found.chunk
        seen: set[int] = set()
        for one in scattered:
            part = int(chunk[one])
            mine = [other for other in self._of(BACKWARD, stage) if chunk[other] == part]
            if part not in seen and mine:
                self.before[one].add(max(mine, key=lambda other: float(self.end[other])))
            seen.add(part)
