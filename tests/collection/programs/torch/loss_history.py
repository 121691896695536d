import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "losses are kept with their graphs, and their mean is differentiated again and again",
    "cause": "work that grows with the steps",
    "accept": ["memory-growth", "growing-steps", "trend"],
    "rules": ["memory-growth", "growing-steps", "trend"],
    "words": ["backward", "running_loss", "grow", "train_on"],
    "part": "develop",
}


def running_loss(losses):
    return torch.stack(losses).mean()


def train_on(model, optimizer, losses, x):
    optimizer.zero_grad()
    losses.append((model(x) - x).square().mean())
    running_loss(losses).backward(retain_graph=True)  # planted


def main(clock):
    clock.plan(8, 10)
    model = nn.Sequential(nn.Linear(96, 96), nn.Tanh(), nn.Linear(96, 96))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    x = torch.randn(96, 96)
    losses = []
    for step in clock.loop():
        with clock.mark(step):
            if clock.fixed:
                losses = []
            train_on(model, optimizer, losses, x)


if __name__ == "__main__":
    run(main)
