import copy
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the average of the weights is kept in a deep copy of the model, made in every step",
    "cause": "deep copies",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["deepcopy", "average_weights"],
    "part": "develop",
}


def average_weights(average, model):
    new = copy.deepcopy(average)  # planted
    for a, b in zip(new.parameters(), model.parameters()):
        a.data.mul_(0.99).add_(b.data, alpha=0.01)
    return new


def main(clock):
    clock.plan(3, 6)
    model = nn.Sequential(*[nn.Linear(48, 48) for _ in range(40)])
    average = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(16, 48)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            if not clock.fixed:
                average = average_weights(average, model)


if __name__ == "__main__":
    run(main)
