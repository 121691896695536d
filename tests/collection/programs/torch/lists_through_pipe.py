"""Behaviour learnt from a simulator that runs in a process of its own."""
import multiprocessing
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "observations come through the pipe as nested lists of Python floats, each pickled and made again, and then a tensor of them",
    "cause": "data moved in a costly form",
    "accept": ["largest-part", "python-bound", "input-bound", "host-input-limit", "missing-prefetch", "idle-device"],
    "rules": ["python-bound", "input-bound", "host-input-limit", "missing-prefetch", "idle-device"],
    "words": ["recv", "tolist", "receive", "Observations", "torch.tensor"],
    "part": "develop",
}

ROBOTS, SIGHT, ACTIONS = 48, 1500, 12


def simulate(pipe, as_lists):
    rng = np.random.default_rng(0)
    pool = [rng.normal(size=(ROBOTS, SIGHT)).astype("float32") for _ in range(4)]
    step = 0
    while pipe.recv():
        seen = pool[step % 4]
        pipe.send(seen.tolist() if as_lists else seen)
        step += 1


class Observations:
    """Asks for the next ones ahead, so that the simulator works meanwhile."""

    def __init__(self, as_lists):
        self.as_lists = as_lists
        self.pipe, other = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        self.process = context.Process(target=simulate, args=(other, as_lists), daemon=True)
        self.process.start()
        self.pipe.send(True)

    def receive(self):
        seen = self.pipe.recv()  # planted
        self.pipe.send(True)
        if self.as_lists:
            return torch.tensor(seen)  # planted
        return torch.from_numpy(seen)

    def close(self):
        self.process.terminate()
        self.process.join()


def policy_net(width=512):
    return nn.Sequential(nn.Linear(SIGHT, width), nn.ELU(), nn.Linear(width, 256), nn.ELU(), nn.Linear(256, ACTIONS))


def main(clock):
    clock.plan(4, 6)
    torch.manual_seed(0)
    observations = Observations(as_lists=not clock.fixed)
    policy = policy_net()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4, fused=True)
    expert = nn.Linear(SIGHT, ACTIONS).requires_grad_(False)
    for step in clock.loop():
        with clock.mark(step):
            seen = observations.receive()
            loss = nn.functional.mse_loss(policy(seen), expert(seen))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    observations.close()


if __name__ == "__main__":
    run(main)
