import hashlib
import io
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the state dict is saved into memory and hashed in every step",
    "cause": "hashing on the host",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["fingerprint", "md5", "hexdigest", "torch.save"],
    "part": "develop",
}


def fingerprint(model):
    held = io.BytesIO()
    torch.save(model.state_dict(), held)  # planted
    return hashlib.md5(held.getvalue()).hexdigest()  # planted


def main(clock):
    clock.plan(3, 6)
    model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(16, 256)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            (model(x) - x).square().mean().backward()
            optimizer.step()
            if not clock.fixed:
                fingerprint(model)


if __name__ == "__main__":
    run(main)
