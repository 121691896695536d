import multiprocessing
import sys
import time
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every step waits for the answer of a simulator in another process",
    "cause": "a wait for another process",
    "accept": ["python-bound", "input-bound"],
    "rules": [],
    "words": ["ask_simulator", "recv", "poll"],
    "part": "develop",
}


def simulator(pipe, seconds):
    while pipe.recv() is not None:
        time.sleep(seconds)
        pipe.send([1.0] * 64)


def ask_simulator(pipe):
    pipe.send("next")
    return torch.tensor(pipe.recv())  # planted


def main(clock):
    clock.plan(2, 6)
    ours, theirs = multiprocessing.get_context("fork").Pipe()
    seconds = 0.0 if clock.fixed else 0.012
    child = multiprocessing.get_context("fork").Process(target=simulator, args=(theirs, seconds))
    child.start()
    model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in clock.loop():
        with clock.mark(step):
            x = ask_simulator(ours)
            optimizer.zero_grad()
            (model(x) - x).square().mean().backward()
            optimizer.step()
    ours.send(None)
    child.join()


if __name__ == "__main__":
    run(main)
