import math
import queue
import random
import sys
import threading
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a thread turns and shifts every point of a stroke in Python; the queue holds one batch",
    "cause": "input in Python",
    "accept": ["input-bound", "python-bound", "gil-contention"],
    "rules": ["input-bound", "python-bound", "gil-contention"],
    "words": ["jitter", "Feeder"],
    "part": "develop",
}


def jitter(stroke, rng):
    angle = rng.uniform(-0.2, 0.2)
    c, s = math.cos(angle), math.sin(angle)
    return [(c * x - s * y + rng.gauss(0, 0.01), s * x + c * y + rng.gauss(0, 0.01)) for x, y in stroke]


def jitter_all(strokes):
    angle = torch.empty(len(strokes)).uniform_(-0.2, 0.2)
    turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], -1).view(-1, 2, 2)
    return strokes @ turn + 0.01 * torch.randn_like(strokes)


class Feeder(threading.Thread):
    def __init__(self, strokes, labels, is_fixed):
        super().__init__(name="feeder", daemon=True)
        self.strokes, self.labels, self.is_fixed = strokes, labels, is_fixed
        self.ready, self.over = queue.Queue(maxsize=1), threading.Event()

    def run(self):
        rng, lists = random.Random(0), self.strokes.tolist()
        while not self.over.is_set():
            rows = [rng.randrange(len(lists)) for _ in range(48)]
            if self.is_fixed:
                batch = jitter_all(self.strokes[rows])
            else:
                batch = torch.tensor([jitter(lists[row], rng) for row in rows])  # planted
            self.ready.put((batch, self.labels[rows]))


def main(clock):
    clock.plan(3, 9)
    torch.manual_seed(0)
    feeder = Feeder(torch.randn(500, 64, 2), torch.randint(0, 26, (500,)), clock.fixed)
    feeder.start()
    net = nn.Sequential(nn.Conv1d(2, 48, 5), nn.ReLU(), nn.Conv1d(48, 48, 5), nn.ReLU(), nn.Flatten(), nn.Linear(48 * 56, 26))
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    for step in clock.loop():
        with clock.mark(step):
            strokes, labels = feeder.ready.get()
            loss = F.cross_entropy(net(strokes.transpose(1, 2)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    feeder.over.set()
    while feeder.is_alive():
        try:
            feeder.ready.get(timeout=0.05)
        except queue.Empty:
            pass


if __name__ == "__main__":
    run(main)
