import sys
import threading
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a metrics thread spins in Python and holds the interpreter's lock",
    "cause": "lock of the interpreter held by another thread",
    "accept": ["gil-contention", "gil"],
    "rules": ["gil-contention", "gil"],
    "words": ["spin", "GIL"],
    "part": "develop", "unsteady": True,
}
state = {"on": False, "sum": 0}


def spin():
    while state["on"]:
        for i in range(1000):
            state["sum"] += i % 7  # planted


def main(clock):
    clock.plan(3, 6)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(20)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(8, 16)
    state["on"] = not clock.fixed
    thread = threading.Thread(target=spin, name="metrics", daemon=True)
    thread.start()
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
    state["on"] = False
    thread.join()


if __name__ == "__main__":
    run(main)
