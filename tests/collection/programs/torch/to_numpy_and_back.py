import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "activations leave torch for numpy in the middle of the model, row by row",
    "cause": "copies between frameworks",
    "accept": ["python-bound", "eager-execution"],
    "rules": ["python-bound"],
    "words": ["NumpyNorm", "normalise_rows", "numpy"],
    "part": "develop",
}


def normalise_rows(x):
    rows = []
    for row in x.detach().numpy():
        rows.append(torch.from_numpy((row - row.mean()) / (row.std() + 1e-6)))  # planted
    return torch.stack(rows)


def main(clock):
    clock.plan(3, 5)
    first, last = nn.Linear(64, 64), nn.Linear(64, 64)
    optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.01)
    x = torch.randn(512, 64)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            h = first(x)
            h = nn.functional.layer_norm(h.detach(), [64]) if clock.fixed else normalise_rows(h)
            (last(h) - x).square().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
