import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "gradients are clipped value by value in Python lists",
    "cause": "gradient clipping in Python",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["clip_by_hand", "tolist"],
    "part": "develop",
}


def clip_by_hand(parameters, limit):
    for p in parameters:
        values = [max(-limit, min(limit, v)) for v in p.grad.flatten().tolist()]  # planted
        p.grad = torch.tensor(values).view_as(p.grad)  # planted


def main(clock):
    clock.plan(2, 5)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(64, 64)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            (model(x) - x).square().mean().backward()
            if clock.fixed:
                nn.utils.clip_grad_value_(model.parameters(), 0.1)
            else:
                clip_by_hand(model.parameters(), 0.1)
            optimizer.step()


if __name__ == "__main__":
    run(main)
