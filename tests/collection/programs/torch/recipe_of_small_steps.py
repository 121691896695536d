"""Training on hand-written digits, with an augmentation written as one would explain it."""
import math
import random
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "augment() goes over every pixel in Python, in half a dozen small functions",
    "cause": "python per element",
    "accept": ["python-bound", "largest-part"],
    "rules": ["python-bound"],
    "words": ["augment"],
    "part": "develop",
}
SIDE, BATCH = 28, 24


def mirrored(rows):
    return [row[::-1] for row in rows]


def brighter(rows, factor):
    return [[min(1.0, value * factor) for value in row] for row in rows]


def shifted(rows, count):
    return [row[count:] + row[:count] for row in rows]


def curved(rows, power):
    return [[math.pow(value, power) for value in row] for row in rows]


def grainy(rows, draw):
    return [[value + 0.05 * draw.random() for value in row] for row in rows]


def centred(rows):
    mean = sum(map(sum, rows)) / (SIDE * SIDE)
    return [[value - mean for value in row] for row in rows]


def augment(rows, draw):
    if draw.random() < 0.5:
        rows = mirrored(rows)
    rows = brighter(rows, 0.8 + 0.4 * draw.random())
    rows = shifted(rows, draw.randrange(4))
    rows = curved(rows, 0.9)
    rows = grainy(rows, draw)
    return centred(rows)


def at_once(pictures):
    """The same, on tensors of a whole batch."""
    pictures = torch.where(torch.rand(BATCH, 1, 1) < 0.5, pictures.flip(2), pictures)
    pictures = (pictures * (0.8 + 0.4 * torch.rand(BATCH, 1, 1))).clamp(max=1).roll(2, dims=2)
    pictures = pictures.pow(0.9) + 0.05 * torch.rand_like(pictures)
    return pictures - pictures.mean(dim=(1, 2), keepdim=True)


def main(clock):
    clock.plan(3, 12)
    torch.manual_seed(0)
    draw = random.Random(0)
    digits = torch.rand(256, SIDE, SIDE)
    lists = digits.tolist()
    model = nn.Sequential(nn.Flatten(), nn.Linear(SIDE * SIDE, 1024), nn.ReLU(), nn.Linear(1024, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in clock.loop():
        with clock.mark(step):
            chosen = [draw.randrange(len(lists)) for _ in range(BATCH)]
            if clock.fixed:
                pictures = at_once(digits[chosen])
            else:
                pictures = torch.tensor([augment(lists[at], draw) for at in chosen])  # planted
            loss = nn.functional.cross_entropy(model(pictures), torch.randint(10, (BATCH,)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
