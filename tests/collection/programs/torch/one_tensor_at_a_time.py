import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "Adam with foreach=False over two hundred small tensors",
    "cause": "optimizer per parameter",
    "accept": ["optimizer-per-variable", "python-optimizer", "eager-execution", "tiny-ops"],
    "rules": ["optimizer-per-variable", "python-optimizer"],
    "words": ["Optimizer.step", "adam", "optimizer.step", "Adam", "foreach"],
    "part": "develop",
}


def main(clock):
    clock.plan(3, 5)
    tables = nn.ParameterList([nn.Parameter(torch.randn(64)) for _ in range(200)])
    optimizer = torch.optim.Adam(tables.parameters(), lr=1e-3, foreach=clock.fixed)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            torch.stack(list(tables)).square().mean().backward()
            optimizer.step()  # planted


if __name__ == "__main__":
    run(main)
