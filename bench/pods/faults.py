"""What can go wrong in a pod, one maker each, with the truth of whom and what to name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.pods.job import Fault, Layout, no_fault

Bool = NDArray[np.bool_]


@dataclass(frozen=True)
class Truth:
    """What is to be found.

    Attributes:
        kind: Of the fault.
        units: Ranks that have it; empty where nobody is to be named.
        is_link: Whether it is in their links.
        causes: Classes of cause that are right.
    """

    kind: str
    units: frozenset[int]
    is_link: bool
    causes: tuple[str, ...]


def _ranks(layout: Layout, mask: Bool) -> frozenset[int]:
    return frozenset(np.flatnonzero(mask.ravel()).tolist())


def _host(layout: Layout, host: int) -> Bool:
    found: Bool = np.arange(layout.world).reshape(layout.shape) // layout.devices == host
    return found


def _device(layout: Layout, rank: int) -> Bool:
    found: Bool = np.arange(layout.world).reshape(layout.shape) == rank
    return found


def _pick(layout: Layout, random: np.random.Generator) -> tuple[int, int]:
    rank = int(random.integers(layout.world))
    return rank, rank // layout.devices


def gpu_throttled(layout: Layout, size: float, random: np.random.Generator) -> tuple[Fault, Truth]:
    """All kernels of one device."""
    fault, rank = no_fault(layout), _pick(layout, random)[0]
    mine = _device(layout, rank)
    fault.compute[mine] *= 1 + size
    fault.memory[mine] *= 1 + size
    return fault, Truth("gpu_throttled", _ranks(layout, mine), False, ("compute",))


def hbm_slow(layout: Layout, size: float, random: np.random.Generator) -> tuple[Fault, Truth]:
    """Kernels bound by memory of one device."""
    fault, rank = no_fault(layout), _pick(layout, random)[0]
    mine = _device(layout, rank)
    fault.memory[mine] *= 1 + 3 * size
    return fault, Truth("hbm_slow", _ranks(layout, mine), False, ("memory",))


def pcie_slow(layout: Layout, size: float, random: np.random.Generator) -> tuple[Fault, Truth]:
    """Copies to the devices of one host."""
    fault, host = no_fault(layout), _pick(layout, random)[1]
    mine = _host(layout, host)
    fault.copy[mine] *= 1 + size * _step_ms(layout) / 0.3
    return fault, Truth("pcie_slow", _ranks(layout, mine), False, ("copies",))


def nic_slow(layout: Layout, size: float, random: np.random.Generator) -> tuple[Fault, Truth]:
    """All links of one host."""
    fault, host = no_fault(layout), _pick(layout, random)[1]
    mine = _host(layout, host)
    fault.link[mine] *= 1 + 20 * size
    return fault, Truth("nic_slow", _ranks(layout, mine), True, ("network",))


def rail_slow(layout: Layout, size: float, random: np.random.Generator) -> tuple[Fault, Truth]:
    """The link of one device."""
    fault, rank = no_fault(layout), _pick(layout, random)[0]
    mine = _device(layout, rank)
    fault.link[mine] *= 1 + 20 * size
    return fault, Truth("rail_slow", _ranks(layout, mine), True, ("network",))


def host_pause(layout: Layout, size: float, random: np.random.Generator) -> tuple[Fault, Truth]:
    """Garbage collection: one host stands every third step."""
    fault, host = no_fault(layout), _pick(layout, random)[1]
    mine = _host(layout, host)
    steps = np.arange(layout.steps) % 3 == 1
    fault.pause_ms[mine] += 3 * size * _step_ms(layout) * steps
    return fault, Truth("host_pause", _ranks(layout, mine), False, ("host",))


def noisy_neighbour(
    layout: Layout, size: float, random: np.random.Generator
) -> tuple[Fault, Truth]:
    """Launching takes long and irregularly on one host."""
    fault, host = no_fault(layout), _pick(layout, random)[1]
    mine = _host(layout, host)
    factor = 1 + 2 * size / 0.05 * random.random((int(mine.sum()), layout.steps))
    fault.launch[mine] *= factor
    return fault, Truth("noisy_neighbour", _ranks(layout, mine), False, ("launch",))


def input_starved(layout: Layout, size: float, random: np.random.Generator) -> tuple[Fault, Truth]:
    """The input of one host is late in every step."""
    fault, host = no_fault(layout), _pick(layout, random)[1]
    mine = _host(layout, host)
    fault.input_ms[mine] += size * _step_ms(layout)
    return fault, Truth("input_starved", _ranks(layout, mine), False, ("input",))


def checkpoint(layout: Layout, size: float, random: np.random.Generator) -> tuple[Fault, Truth]:
    """Rank 0 writes a checkpoint every fifth step."""
    fault, mine = no_fault(layout), _device(layout, 0)
    steps = np.arange(layout.steps) % 5 == 4
    fault.pause_ms[mine] += 5 * size * _step_ms(layout) * steps
    return fault, Truth("checkpoint", _ranks(layout, mine), False, ("host",))


def late_start(layout: Layout, size: float, random: np.random.Generator) -> tuple[Fault, Truth]:
    """One host is late once."""
    fault, host = no_fault(layout), _pick(layout, random)[1]
    mine = _host(layout, host)
    fault.input_ms[mine, 1] += layout.steps * size * _step_ms(layout)
    return fault, Truth("late_start", _ranks(layout, mine), False, ("input", "once"))


def slow_rack(layout: Layout, size: float, random: np.random.Generator) -> tuple[Fault, Truth]:
    """All devices of neighbouring hosts."""
    fault = no_fault(layout)
    racks = max(layout.hosts // layout.rack, 1)
    rack = int(random.integers(racks))
    host = np.arange(layout.world).reshape(layout.shape) // layout.devices
    mine = host // layout.rack == rack
    fault.compute[mine] *= 1 + size
    fault.memory[mine] *= 1 + size
    # A rack that is a whole stage looks like a stage with more to do.
    is_stage = bool((mine.all(axis=(1, 2)) == mine.any(axis=(1, 2))).all()) and layout.stages > 1
    causes = ("compute", "unequal") if is_stage else ("compute",)
    return fault, Truth("slow_rack", _ranks(layout, mine), False, causes)


def same_local(layout: Layout, size: float, random: np.random.Generator) -> tuple[Fault, Truth]:
    """The same device of every host."""
    fault, local = no_fault(layout), int(random.integers(layout.devices))
    mine = np.arange(layout.world).reshape(layout.shape) % layout.devices == local
    fault.compute[mine] *= 1 + size
    fault.memory[mine] *= 1 + size
    return fault, Truth("same_local", _ranks(layout, mine), False, ("compute",))


def last_stage(layout: Layout, size: float, random: np.random.Generator) -> tuple[Fault, Truth]:
    """The last stage has more to do."""
    fault = no_fault(layout)
    mine = np.zeros(layout.shape, dtype=np.bool_)
    mine[-1] = True
    fault.compute[mine] *= 1 + size
    fault.memory[mine] *= 1 + size
    return fault, Truth("last_stage", _ranks(layout, mine), False, ("unequal", "compute"))


def two_hosts(layout: Layout, size: float, random: np.random.Generator) -> tuple[Fault, Truth]:
    """Two hosts are equally slow: neither leads."""
    fault = no_fault(layout)
    one, other = random.choice(layout.hosts, 2, replace=False).tolist()
    mine = _host(layout, one) | _host(layout, other)
    fault.compute[mine] *= 1 + size
    fault.memory[mine] *= 1 + size
    return fault, Truth("two_hosts", _ranks(layout, mine), False, ("compute",))


def random_lengths(layout: Layout, size: float, random: np.random.Generator) -> tuple[Fault, Truth]:
    """Sequences of random length: somebody is always late, nobody is to blame."""
    fault = no_fault(layout)
    fault.uneven = size
    return fault, Truth("random_lengths", frozenset(), False, ("rotating",))


Maker = Callable[[Layout, float, np.random.Generator], tuple[Fault, Truth]]
FAULTS: dict[str, Maker] = {
    one.__name__: one
    for one in (
        gpu_throttled,
        hbm_slow,
        pcie_slow,
        nic_slow,
        rail_slow,
        host_pause,
        noisy_neighbour,
        input_starved,
        checkpoint,
        late_start,
        slow_rack,
        same_local,
        last_stage,
        two_hosts,
        random_lengths,
    )
}


def _step_ms(layout: Layout) -> float:
    """A step's work, roughly: what sizes of pauses are shares of."""
    return 3 * layout.layers * layout.batches * layout.layer_ms
