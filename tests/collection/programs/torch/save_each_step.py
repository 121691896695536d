import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "torch.save of model and optimizer in every step",
    "cause": "checkpoints",
    "accept": ["python-bound", "checkpoint-every-step", "checkpoints"],
    "rules": ["checkpoint-every-step", "checkpoints"],
    "words": ["save", "checkpoint"],
    "part": "develop",
}


def checkpoint(model, optimizer, path):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)  # planted


def main(clock):
    clock.plan(3, 6)
    model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512))
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(16, 512)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            (model(x) - x).square().mean().backward()
            optimizer.step()
        if not clock.fixed:
            checkpoint(model, optimizer, clock.folder + "/last.pt")  # planted


if __name__ == "__main__":
    run(main)
