"""A training job on many devices, simulated: who computes, meets and waits when.

The simulation advances all replicas of a pipeline stage together: a state is an array
[replica, tensor-parallel rank] for each stage. It knows nothing of how stepscope looks at pods.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

#: What a stretch of work is made of, as shares of it: kernels bound by compute and by memory, and
#: the gaps in which they are launched.
COMPUTE, MEMORY, LAUNCH = 0.70, 0.25, 0.05
NOISE = 0.02
DEVICE_SPREAD = 0.02
LATENCY_MS = 0.02


@dataclass(frozen=True)
class Layout:
    """How a job is spread: pipeline stages × replicas × tensor-parallel ranks."""

    stages: int
    replicas: int
    tensor: int
    devices: int = 4
    layers: int = 4
    batches: int = 4
    steps: int = 10
    layer_ms: float = 2.0
    rack: int = 4

    @property
    def shape(self) -> tuple[int, int, int]:
        """(stages, replicas, tensor-parallel ranks): ranks count in this order."""
        return self.stages, self.replicas, self.tensor

    @property
    def world(self) -> int:
        """How many devices."""
        return self.stages * self.replicas * self.tensor

    @property
    def hosts(self) -> int:
        """How many hosts; the last may have fewer devices."""
        return -(-self.world // self.devices)


@dataclass
class Fault:
    """What is done to a job, as arrays over [stage, replica, tensor-parallel rank] and steps.

    Attributes:
        kind: What it is called.
        compute, memory, launch, copy: Factors on what work is made of: [stages, …, steps].
        link: Factor on transfers through a device to other hosts.
        inside: Factor on transfers between devices of its host.
        input_ms, pause_ms: Added before a step's first work, and before its last collective.
        uneven: Spread of the random length of a replica's work from step to step.
    """

    kind: str
    compute: F64
    memory: F64
    launch: F64
    copy: F64
    link: F64
    input_ms: F64
    pause_ms: F64
    uneven: float = 0.0


def no_fault(layout: Layout) -> Fault:
    """A job as it should be."""
    one = np.ones((*layout.shape, layout.steps))
    nothing = np.zeros((*layout.shape, layout.steps))
    return Fault(
        "none", one.copy(), one.copy(), one.copy(), one.copy(), one.copy(), nothing, nothing.copy()
    )


@dataclass
class Event:
    """One collective of one stage: arrays [replicas, tensor-parallel ranks]."""

    kind: str
    group: NDArray[np.int64]
    number: int
    step: int
    stage: int
    start: F64
    end: F64
    exposed: F64


@dataclass
class Run:
    """What a job did; times in ms from its begin.

    Attributes:
        events: Its collectives.
        begin: [steps + 1, stages, replicas, tensor].
        parts: By part of a step: [steps, stages, replicas, tensor].
    """

    layout: Layout
    events: list[Event] = field(default_factory=list)
    begin: list[F64] = field(default_factory=list)
    parts: dict[str, F64] = field(default_factory=dict)

    @property
    def step_ms(self) -> float:
        """Mean step of the slowest device."""
        return float((self.begin[-1].max() - self.begin[0].min()) / self.layout.steps)


PARTS = ("compute", "memory", "launch", "copy", "input", "pause")


class Simulation:
    """One job under one fault.

    Args:
        layout: Its shape.
        fault: What is done to it.
        seed: Of noise; the same seed without the fault is the same job without it.
    """

    def __init__(self, layout: Layout, fault: Fault, seed: int) -> None:
        self.layout, self.fault = layout, fault
        self.random = np.random.default_rng(seed)
        self.run = Run(layout)
        self.now = np.zeros(layout.shape)
        self.device = 1 + DEVICE_SPREAD * self.random.standard_normal(layout.shape)
        self.rank = np.arange(layout.world).reshape(layout.shape)
        self.host = self.rank // layout.devices
        self.numbers: dict[tuple[str, int], int] = {}
        size = (layout.steps, *layout.shape)
        self.run.parts = {part: np.zeros(size) for part in PARTS}
        self.length = np.ones((layout.steps, layout.replicas))
        if fault.uneven:
            self.length = np.exp(self.random.normal(0, fault.uneven, self.length.shape))

    def simulate(self) -> Run:
        """All steps."""
        for step in range(self.layout.steps):
            self.run.begin.append(self.now.copy())
            self._begin(step)
            if self.layout.stages == self.layout.tensor == 1:
                self._sharded(step)
            else:
                self._pipelined(step)
                self._reduce(step)
        self.run.begin.append(self.now.copy())
        return self.run

    def _begin(self, step: int) -> None:
        """The next batch arrives and is copied to the device."""
        fault = self.fault
        wait = 0.1 + fault.input_ms[..., step]
        copy = 0.3 * fault.copy[..., step] * self._noise(self.layout.shape)
        self.run.parts["input"][step] += wait
        self.run.parts["copy"][step] += copy
        self.now += wait + copy

    def _noise(self, shape: tuple[int, ...]) -> F64:
        return np.exp(self.random.normal(0, NOISE, shape))

    def _work(self, step: int, stage: int, length_ms: float) -> None:
        """A stretch of kernels on one stage."""
        fault, at = self.fault, (stage, slice(None), slice(None), step)
        shape = self.layout.shape[1:]
        usual = length_ms * self.device[stage] * self.length[step][:, None]
        for part, share, factor in (
            ("compute", COMPUTE, fault.compute[at]),
            ("memory", MEMORY, fault.memory[at]),
            ("launch", LAUNCH, fault.launch[at]),
        ):
            time = usual * share * factor * self._noise(shape)
            self.run.parts[part][step, stage] += time
            self.now[stage] += time

    def _meet(
        self, kind: str, stage: int, step: int, group: NDArray[np.int64], cost_ms: float
    ) -> None:
        """All of each group wait for one another; group has a number per device of the stage."""
        arrive = self.now[stage]
        flat, code = np.unique(group, return_inverse=True)
        code = code.reshape(group.shape)
        last = np.full(len(flat), -np.inf)
        np.maximum.at(last, code, arrive)
        slowest = np.zeros(len(flat))
        np.maximum.at(slowest, code, self._links(stage, step, code, len(flat)))
        took = LATENCY_MS + cost_ms * slowest * np.exp(self.random.normal(0, 0.01, len(flat)))
        bias = 0.005 * self.random.random(group.shape)
        end = (last + took)[code] + bias
        self._record(kind, stage, step, group, arrive.copy(), end, end - arrive)
        self.now[stage] = end

    def _links(self, stage: int, step: int, code: NDArray[np.int64], groups: int) -> F64:
        """Factor on a device's part of a transfer: of its link, where a group leaves its host."""
        low, high = np.full(groups, np.iinfo(np.int64).max), np.full(groups, -1)
        np.minimum.at(low, code, self.host[stage])
        np.maximum.at(high, code, self.host[stage])
        leaves = (low < high)[code]
        return np.where(leaves, self.fault.link[stage, ..., step], 1.0)

    def _record(
        self,
        kind: str,
        stage: int,
        step: int,
        group: NDArray[np.int64],
        start: F64,
        end: F64,
        exposed: F64,
    ) -> None:
        key = f"{kind}{stage}", step
        number = self.numbers.setdefault(key, 0)
        self.numbers[key] += 1
        self.run.events.append(
            Event(kind, group, step * 100_000 + number, step, stage, start, end, exposed)
        )

    def _sharded(self, step: int) -> None:
        """Fully sharded: every layer is gathered before it is used, reduced after its gradient."""
        layout = self.layout
        everyone = np.zeros(layout.shape[1:], dtype=np.int64)
        for _ in range(layout.layers * layout.batches):
            self._meet("all_gather", 0, step, everyone, 0.4)
            self._work(step, 0, layout.layer_ms)
        for place in range(layout.layers * layout.batches):
            self._work(step, 0, 2 * layout.layer_ms)
            if place + 1 == layout.layers * layout.batches:
                self._pause(step)
            self._meet("reduce_scatter", 0, step, everyone, 0.4)

    def _pause(self, step: int) -> None:
        self.run.parts["pause"][step] += self.fault.pause_ms[..., step]
        self.now += self.fault.pause_ms[..., step]

    def _pipelined(self, step: int) -> None:
        """One forward, one backward: each stage in its order, as messages come."""
        layout = self.layout
        orders = [list(_one_forward_one_backward(layout, stage)) for stage in range(layout.stages)]
        sent: dict[tuple[str, int, int], F64] = {}
        place = [0] * layout.stages
        while any(place[stage] < len(orders[stage]) for stage in range(layout.stages)):
            for stage in range(layout.stages):
                while place[stage] < len(orders[stage]):
                    way, batch = orders[stage][place[stage]]
                    source = stage - 1 if way == "forward" else stage + 1
                    if 0 <= source < layout.stages:
                        if (way, source, batch) not in sent:
                            break
                        self._receive(step, stage, source, sent[way, source, batch])
                    self._layers(step, stage, way)
                    sent[way, stage, batch] = self.now[stage].copy()
                    place[stage] += 1

    def _layers(self, step: int, stage: int, way: str) -> None:
        layout = self.layout
        length = layout.layer_ms * (1 if way == "forward" else 2)
        for _ in range(layout.layers):
            self._work(step, stage, length)
            if layout.tensor > 1:
                replica = np.arange(layout.replicas)[:, None] + np.zeros(layout.tensor, np.int64)
                self._meet("all_reduce", stage, step, replica + 1000 * stage, 0.1)

    def _receive(self, step: int, stage: int, source: int, posted: F64) -> None:
        """A message: the receiver waits for it, the sender goes on."""
        arrive = self.now[stage].copy()
        link = np.maximum(self.fault.link[stage, ..., step], self.fault.link[source, ..., step])
        end = np.maximum(arrive, posted) + LATENCY_MS + 0.2 * link
        low = min(stage, source)
        pair = self.rank[low] + 10_000_000 * (1 if stage > source else 2)
        number = self.numbers.get((f"message{low}{stage}", step), 0)
        self.numbers[f"message{low}{stage}", step] = number + 1
        for where, start, exposed in (
            (stage, arrive, end - arrive),
            (source, posted, np.zeros(arrive.shape)),
        ):
            self.run.events.append(
                Event("send_recv", pair, step * 100_000 + number, step, where, start, end, exposed)
            )
        self.now[stage] = end

    def _reduce(self, step: int) -> None:
        """Gradients among replicas, then parameters back."""
        layout = self.layout
        self._pause(step)
        for stage in range(layout.stages):
            group = np.arange(layout.tensor) + np.zeros((layout.replicas, 1), np.int64)
            group = group + 1000 * stage
            self._meet("reduce_scatter", stage, step, group, 2.0)
            self._work(step, stage, 1.0)
            self._meet("all_gather", stage, step, group, 1.0)


def _one_forward_one_backward(layout: Layout, stage: int) -> Iterator[tuple[str, int]]:
    warm = min(layout.stages - stage - 1, layout.batches)
    for batch in range(warm):
        yield "forward", batch
    for batch in range(layout.batches - warm):
        yield "forward", warm + batch
        yield "backward", batch
    for batch in range(layout.batches - warm, layout.batches):
        yield "backward", batch
