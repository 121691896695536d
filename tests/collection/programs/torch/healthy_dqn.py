import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


class ReplayBuffer:
    def __init__(self, size, state_size, random):
        self.states = random.standard_normal((size, state_size)).astype(np.float32)
        self.next = random.standard_normal((size, state_size)).astype(np.float32)
        self.actions, self.rewards = random.integers(0, 4, size), random.random(size).astype(np.float32)
        self.random = random

    def sample(self, count):
        at = self.random.integers(0, len(self.states), count)
        return [torch.from_numpy(one[at]) for one in (self.states, self.next, self.actions, self.rewards)]


def main(clock):
    clock.plan(3, 8)
    torch.manual_seed(0)
    buffer = ReplayBuffer(20_000, 64, np.random.default_rng(0))
    net, target = (nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 4)) for _ in range(2))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    for step in clock.loop():
        with clock.mark(step, "learn"):
            s, n, a, r = buffer.sample(512)
            with torch.no_grad():
                goal = r + 0.99 * target(n).max(1).values
            q = net(s).gather(1, a[:, None])[:, 0]
            loss = nn.functional.smooth_l1_loss(q, goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
