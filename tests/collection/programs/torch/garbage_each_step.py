import gc
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "gc.collect() after every batch against an out-of-memory error of long ago",
    "cause": "garbage collection",
    "accept": ["garbage-collection", "gc-pauses"],
    "rules": ["garbage-collection", "gc-pauses"],
    "words": ["collect", "after_batch", "garbage"],
    "part": "develop",
}


def after_batch():
    gc.collect()  # planted


def main(clock):
    clock.plan(2, 6)
    index = {str(i): [i, {"path": f"/data/{i}.png"}] for i in range(20000)}
    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(64, 256)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            if not clock.fixed:
                after_batch()
    return index


if __name__ == "__main__":
    run(main)
