import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the penalty on the spectral norm decomposes each weight whole, in every step",
    "cause": "an algorithm that does more than it must",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["spectral_penalty", "svd"],
    "family": "svd",
    "part": "develop",
}


def spectral_penalty(model):
    return sum(torch.linalg.svdvals(p)[0] for p in model.parameters() if p.ndim == 2)  # planted


def power_penalty(model):
    total = 0.0
    for p in model.parameters():
        if p.ndim == 2:
            with torch.no_grad():
                v = torch.ones(p.shape[1])
                for _ in range(3):
                    u = nn.functional.normalize(p @ v, dim=0)
                    v = nn.functional.normalize(p.t() @ u, dim=0)
            total = total + u @ p @ v
    return total


def main(clock):
    clock.plan(2, 5)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(256, 784), torch.randint(0, 10, (256,))
    penalty = power_penalty if clock.fixed else spectral_penalty
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y) + 1e-3 * penalty(model)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
