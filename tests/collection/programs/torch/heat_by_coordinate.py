"""A network that solves the heat equation in a plate, as its residual says."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "slope() goes backward through the network again for each coordinate of each use",
    "cause": "gradients computed again",
    "accept": ["largest-part", "dominant-op", "repeated-gradients"],
    "rules": [],
    "words": ["For gradients of gradients", "gradient of each output once"],
    "part": "develop",
}
POINTS, WIDTH = 512, 128


class Temperature(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(size, WIDTH) for size in (4, WIDTH, WIDTH)
        )
        self.last = nn.Linear(WIDTH, 1)

    def forward(self, at):
        for layer in self.layers:
            at = torch.tanh(layer(at))
        return self.last(at)


def all_slopes(of, at):
    return torch.autograd.grad(of.sum(), at, create_graph=True)[0]


def slope(of, at, axis):
    return all_slopes(of, at)[:, axis : axis + 1]  # planted


def residual(model, at, is_fixed):
    at.requires_grad_(True)
    heat = model(at)
    if is_fixed:
        x, y, z, t = all_slopes(heat, at).split(1, dim=1)
        firsts = (x, y, z)
    else:
        firsts = [slope(heat, at, axis) for axis in range(3)]
        x, y, z, t = (slope(heat, at, axis) for axis in range(4))
    bends = sum(slope(first, at, axis) for axis, first in enumerate(firsts))
    return t - 0.1 * bends + 0.01 * (x**2 + y**2 + z**2)


def main(clock):
    clock.plan(4, 3)
    torch.manual_seed(0)
    model = Temperature()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in clock.loop():
        with clock.mark(step):
            loss = residual(model, torch.rand(POINTS, 4), clock.fixed).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()


if __name__ == "__main__":
    run(main)
