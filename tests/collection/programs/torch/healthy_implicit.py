"""SIREN: a picture as a net of sines, fit to random pixels."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

SIDE, PIXELS, WIDTH = 256, 2048, 128


class Sine(nn.Module):
    def __init__(self, a, b, scale=30.0):
        super().__init__()
        self.linear, self.scale = nn.Linear(a, b), scale
        bound = (6 / a) ** 0.5 / scale
        nn.init.uniform_(self.linear.weight, -bound, bound)

    def forward(self, x):
        return torch.sin(self.scale * self.linear(x))


def main(clock):
    clock.plan(4, 6)
    torch.manual_seed(0)
    model = nn.Sequential(Sine(2, WIDTH), Sine(WIDTH, WIDTH), Sine(WIDTH, WIDTH), nn.Linear(WIDTH, 3))
    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    picture = torch.rand(SIDE * SIDE, 3)
    axis = torch.linspace(-1, 1, SIDE)
    places = torch.cartesian_prod(axis, axis)
    for step in clock.loop():
        with clock.mark(step):
            rows = torch.randint(SIDE * SIDE, (PIXELS,))
            loss = nn.functional.mse_loss(model(places[rows]), picture[rows])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
