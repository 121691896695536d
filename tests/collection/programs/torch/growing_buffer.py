import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "all features so far are joined with torch.cat and their mean taken in every step",
    "cause": "work that grows with the steps",
    "accept": ["growing-steps", "trend", "memory-growth"],
    "rules": ["growing-steps", "trend", "memory-growth", "dominant-op"],
    "words": ["remember", "cat", "grow"],
    "part": "develop",
}


class Memory:
    def __init__(self):
        self.all = torch.zeros(0, 256)

    def remember(self, features):
        self.all = torch.cat([self.all, features])  # planted
        return self.all.mean(0)  # planted


def main(clock):
    clock.plan(10, 12)
    model = nn.Linear(256, 256)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(512, 256)
    memory = Memory()
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            features = model(x)
            if clock.fixed:
                memory = Memory()
            centre = memory.remember(features.detach())
            (features - centre).square().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
