"""One rank of a data-parallel job over gloo, trained once healthy and once with each fault.

python -m tests.live.gloo_job RANK WORLD FOLDER SLOW_RANK

Writes its traces to FOLDER/FAULT and prints each mean step, ms, without the first steps, as JSON.
The ranks meet through a file in FOLDER, for a port found free may be taken when a rank gets to it.
Each stays until its standard input ends: a rank that leaves first breaks what the others wait in.
"""

from __future__ import annotations

import json
import sys
import time

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.data import DataLoader

FAULTS = ("none", "sleeping", "throttled", "starved")
STEPS = 15
WARM = 3
FAULT_S = 0.06


class Samples:
    """Samples that take their time on a starved rank."""

    def __init__(self, wait_s: float) -> None:
        self.wait_s = wait_s
        self.values = torch.randn(STEPS + WARM, 64)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.wait_s)
        return self.values[index]


def main() -> None:
    """Train, if one can call it that."""
    rank, world = (int(text) for text in sys.argv[1:3])
    folder, slow_rank = sys.argv[3], int(sys.argv[4])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/ranks", rank=rank, world_size=world)
    means = {}
    for fault in FAULTS:
        path = f"{folder}/{fault}/rank{rank}.pt.trace.json"
        means[fault] = train(world, fault if rank == slow_rank else "none", path)
    print(json.dumps(means), flush=True)
    sys.stdin.read()
    dist.destroy_process_group()


def train(world: int, fault: str, path: str) -> float:
    """Record some steps with a fault of this rank's own; the mean step, ms."""
    data = Samples(FAULT_S if fault == "starved" else 0.0)
    weights, gradients = torch.randn(64, 64), torch.ones(50_000)
    batches = iter(DataLoader(data, batch_size=1))

    def step() -> None:
        value = next(batches)
        until = time.perf_counter() + (FAULT_S if fault == "throttled" else 0)
        value = torch.tanh(value @ weights)
        while time.perf_counter() < until:
            value = torch.tanh(value @ weights)
        if fault == "sleeping":
            time.sleep(FAULT_S)
        dist.all_reduce(gradients)
        gradients.div_(world)

    for _ in range(WARM):
        step()
    times = []
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        for number in range(STEPS):
            begin = time.perf_counter()
            with record_function(f"ProfilerStep#{number}"):
                step()
            times.append(time.perf_counter() - begin)
    recorded.export_chrome_trace(path)
    return sum(times[1:]) / len(times[1:]) * 1e3


if __name__ == "__main__":
    main()
