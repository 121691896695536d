import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "numpy's float64 data turned the model to double",
    "cause": "float64",
    "accept": ["float64", "double-precision"],
    "rules": ["float64", "double-precision"],
    "words": ["float64", "double", "mm", "linear"],
    "family": "aten::addmm",
    "part": "develop",
}


def main(clock):
    clock.plan(3, 6)
    kind = torch.float32 if clock.fixed else torch.float64
    x = torch.from_numpy(np.random.rand(256, 512)).to(kind)  # planted
    model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512)).to(kind)  # planted
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            (model(x) - x).square().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
