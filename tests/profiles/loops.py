"""Training loops on accelerators, as their recorder would leave them.

    record(Loop(kernels=(Kernel("sgemm", 400), Kernel("relu", 100)), input_us=50))

plays the loop: each step the host waits for its input, spends its own time, launches the kernels
one by one and, if told so, waits for the device; each device runs its kernels in order as soon as
they are launched; a collective begins on a device when its kernels are done and ends on all
devices of all hosts together. The result is what really happened in it, so the time of every part
of a step can be worked out from the numbers given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.profiles.memory import Heap
from tests.profiles.model import (
    NVIDIA_A100,
    Event,
    Kind,
    Line,
    Plane,
    Stats,
    environment,
    gpu,
    host,
    line,
    plane,
    space,
)

# A host may be so many steps ahead of its devices before it has to wait.
_AHEAD = 1
# The host's call for a kernel, on GPUs and on TPUs.
_CALLS = ("cuLaunchKernel", "PjRtCApiLoadedExecutable::Execute")


@dataclass(frozen=True, slots=True)
class Kernel:
    """What a device runs once per step.

    Attributes:
        name: As recorded.
        us: How long it takes.
        op: The framework op, "name:type".
        launch_us: How long the host's call takes; None for the loop's.
        stats: More stats of the device event.
        call: Name of the host's call.
    """

    name: str
    us: float
    op: str = ""
    launch_us: float | None = None
    stats: Stats = field(default_factory=dict)
    call: str = "cuLaunchKernel"


def copy_to_device(
    us: float, size: int, *, memory: str = "pinned", blocking: bool = False
) -> Kernel:
    """A copy of ``size`` bytes from the host; a blocking one keeps the host as long as it takes."""
    flags = f"size:{size} dest:0 async:{int(not blocking)}"
    details = f"kind_src:{memory} kind_dst:device {flags}"
    call = "cuMemcpyHtoD_v2" if blocking else "cuMemcpyHtoDAsync_v2"
    launch = us if blocking else None
    return Kernel("MemcpyH2D", us, "", launch, {"memcpy_details": details}, call)


def copy_to_host(us: float, size: int, *, memory: str = "pinned") -> Kernel:
    """An asynchronous copy of ``size`` bytes to the host."""
    details = f"kind_src:device kind_dst:{memory} size:{size} dest:0 async:1"
    return Kernel("MemcpyD2H", us, "", None, {"memcpy_details": details}, "cuMemcpyDtoHAsync_v2")


@dataclass(frozen=True, slots=True)
class Collective:
    """What all devices do together at the end of a step's kernels.

    Attributes:
        us: Time of the transfer, from the last arrival on.
        overlap_us: It begins so long before the device's kernels are done.
        name: The kernel.
    """

    us: float
    overlap_us: float = 0.0
    name: str = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)"


@dataclass(frozen=True, slots=True)
class Loop:
    """One host's loop.

    Attributes:
        kernels: What each device runs in each step, in order.
        devices: How many.
        steps: How many.
        launch_us: How long the host's call for a kernel takes.
        input_us: Wait for the next element at the begin of each step.
        python_us: Time after it in which nothing is recorded.
        stage_us: Time of a tf.data stage on a thread of its own, beside the step; 0 for none.
        wait: A call that waits for the devices at the end of each step, "" for none.
        after_us: Time after it, within the step, in which nothing is recorded.
        slower: Factor on the kernels' time, by device.
        more: Kernels that only some devices run, by device.
        collective: What the devices do together.
        heap: What a device's allocator holds: (bytes in use, bytes it may use, fragmentation).
        device: Stats of the devices' planes.
        is_tpu: The devices are TPUs: kernels are HLO ops, whose ``stats`` belong to the op, and
            nothing on the host says who launched them.
        clock_us: What this host's clock shows when the first one's shows 0.
    """

    kernels: Sequence[Kernel]
    devices: int = 1
    steps: int = 10
    launch_us: float = 4.0
    input_us: float = 0.0
    python_us: float = 0.0
    stage_us: float = 0.0
    wait: str = ""
    after_us: float = 0.0
    slower: Mapping[int, float] = field(default_factory=dict)
    more: Mapping[int, Sequence[Kernel]] = field(default_factory=dict)
    collective: Collective | None = None
    heap: tuple[int, int, float] | None = None
    device: Stats = field(default_factory=lambda: NVIDIA_A100)
    is_tpu: bool = False
    clock_us: float = 0.0

    def of_device(self, device: int) -> list[Kernel]:
        """The kernels of one device, as long as they take there."""
        factor = self.slower.get(device, 1.0)
        kernels = [*self.kernels, *self.more.get(device, ())]
        return [replace(kernel, us=kernel.us * factor) for kernel in kernels]


class _Host:
    """A host while it plays: what its threads and devices have recorded, and when they are free."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.now = 0.0
        self.python: list[Event] = []
        self.data: list[Event] = []
        self.launchers: list[list[Event]] = [[] for _ in range(loop.devices)]
        self.compute: list[list[Event]] = [[] for _ in range(loop.devices)]
        self.talk: list[list[Event]] = [[] for _ in range(loop.devices)]
        self.free = [0.0] * loop.devices
        self.ends: list[float] = []
        self.begun = 0.0
        self.correlation = 0

    def launch_step(self, step: int) -> None:
        """The host's part of a step, and the kernels it makes the devices run."""
        loop = self.loop
        if step > _AHEAD:
            self.now = max(self.now, self.ends[step - _AHEAD - 1])
        self.begun = self.now
        if loop.input_us:
            self.python.append(Event("IteratorGetNext", self.now, loop.input_us))
        if loop.stage_us:
            stats = {"id": step + 1, "parent_id": 0}
            self.data.append(Event("Iterator::Prefetch::Map", self.now, loop.stage_us, stats))
        begin = self.now + loop.input_us + loop.python_us
        self.now = max(self._launch(device, begin) for device in range(loop.devices))

    def _launch(self, device: int, begin: float) -> float:
        """Launch the kernels of one device; when its thread is done with it."""
        at = begin
        for kernel in self.loop.of_device(device):
            self.correlation += 1
            stats = {} if self.loop.is_tpu else {"correlation_id": self.correlation}
            cost = self.loop.launch_us if kernel.launch_us is None else kernel.launch_us
            start = max(self.free[device], at if cost == kernel.us else at + cost)
            call = _CALLS[True] if self.loop.is_tpu else kernel.call
            self.launchers[device].append(Event(call, at, cost, stats))
            named = {"tf_op": kernel.op} if kernel.op else {}
            own = {} if self.loop.is_tpu else {**named, **kernel.stats}
            self.compute[device].append(Event(kernel.name, start, kernel.us, {**stats, **own}))
            self.free[device] = start + kernel.us
            at += cost
        return at

    def meet(self, arrivals: Sequence[float], end: float, collective: Collective) -> None:
        """The collective of this step, on each device from its arrival to the common end."""
        for device, arrival in enumerate(arrivals):
            self.correlation += 1
            stats = {} if self.loop.is_tpu else {"correlation_id": self.correlation}
            self.launchers[device].append(Event(_CALLS[self.loop.is_tpu], self.now, 1.0, stats))
            self.talk[device].append(Event(collective.name, arrival, end - arrival, stats))
            self.free[device] = max(self.free[device], end)
        self.now += 1.0

    def finish_step(self, step: int) -> None:
        """What the host does until the step's end."""
        done = max(self.free)
        self.ends.append(done)
        if self.loop.wait:
            self.python.append(Event(self.loop.wait, self.now, max(done - self.now, 1.0)))
            self.now = max(done, self.now + 1.0)
        self.now += self.loop.after_us
        marker = {"step_num": step, "_r": 1}
        self.python.append(Event("train", self.begun, self.now - self.begun, marker))
        self.now += 1.0

    def planes(self) -> list[Plane]:
        """The host's planes."""
        zero = round(self.loop.clock_us * 1000)
        lines = [line("python", *self.python, timestamp_ns=zero)]
        lines += [
            line(f"tf_Compute/{device}", *events, timestamp_ns=zero)
            for device, events in enumerate(self.launchers)
        ]
        if self.data:
            lines.append(line("tf_data_iterator_get_next/0", *self.data, timestamp_ns=zero))
        lines += self._allocators(zero)
        return [host(*lines), *(self._device(index, zero) for index in range(self.loop.devices))]

    def _device(self, device: int, zero: int) -> Plane:
        if not self.loop.is_tpu:
            return gpu(device, *self._streams(device, zero), stats=self.loop.device)
        ops = line("XLA Ops", *self.compute[device], *self.talk[device], timestamp_ns=zero)
        kernels = self.loop.of_device(device)
        kinds = {
            one.name: Kind(
                display_name=one.name.partition(" = ")[0].removeprefix("%"),
                stats={"tf_op": one.op, **one.stats},
            )
            for one in kernels
        }
        if self.loop.collective is not None:
            name = self.loop.collective.name
            short = name.partition(" = ")[0].removeprefix("%")
            kinds[name] = Kind(display_name=short, stats={"hlo_category": "all-reduce"})
        return plane(
            f"/device:TPU:{device}", ops, stats=self.loop.device, kinds=kinds, id=device + 1
        )

    def _streams(self, device: int, zero: int) -> list[Line]:
        streams = [line("Stream #7(Compute)", *self.compute[device], id=7, timestamp_ns=zero)]
        if self.talk[device]:
            events = self.talk[device]
            streams.append(line("Stream #20(Compute)", *events, id=20, timestamp_ns=zero))
        return streams

    def _allocators(self, zero: int) -> list[Line]:
        """An allocator per device: weights before the loop, activations in every step."""
        if self.loop.heap is None:
            return []
        used, limit, fragmentation = self.loop.heap
        lines = []
        for device in range(self.loop.devices):
            heap = Heap(f"GPU_{device}_bfc", limit, fragmentation=fragmentation)
            heap.take(0.5, 1 << 20, used // 2, tf_op="weights")
            for step, end in enumerate(self.ends):
                heap.take(end - 1.0, (2 + step) << 20, used // 2, tf_op="activations")
                heap.give(end - 0.5, (2 + step) << 20)
            lines.append(line(f"allocator {device}", *heap.events, timestamp_ns=zero))
        return lines


def play(loops: Sequence[Loop]) -> list[_Host]:
    """Play the loops of all hosts together."""
    hosts = [_Host(loop) for loop in loops]
    for step in range(min(loop.steps for loop in loops)):
        for one in hosts:
            one.launch_step(step)
        together = [one for one in hosts if one.loop.collective is not None]
        arrivals = {
            id(one): [max(free - one.loop.collective.overlap_us, 0.0) for free in one.free]
            for one in together
            if one.loop.collective is not None
        }
        last = max((at for own in arrivals.values() for at in own), default=0.0)
        for one in together:
            assert one.loop.collective is not None
            one.meet(arrivals[id(one)], last + one.loop.collective.us, one.loop.collective)
        for one in hosts:
            one.finish_step(step)
    return hosts


def record(*loops: Loop, more: Sequence[Plane] = ()) -> dict[str, bytes]:
    """The recording of each host, by name: "host-0", "host-1" …; ``more`` planes go to each."""
    played = play(loops)
    facts = environment(profile_start_time=0, profile_stop_time=round(max(played[0].ends) * 1000))
    return {
        f"host-{index}": space(*one.planes(), facts, *more, hostnames=(f"host-{index}",))
        for index, one in enumerate(played)
    }


__all__ = ["Collective", "Kernel", "Loop", "copy_to_device", "copy_to_host", "plane", "record"]
