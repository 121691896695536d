"""Growing neural cellular automata (Mordvintsev et al. 2020)."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "perception copies the nine neighbours of each cell by unfold and multiplies them, instead of a convolution by channel",
    "cause": "copies of data",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["perceive", "aten::im2col", "aten::col2im", "unfold", "Im2ColBackward0", "im2col"],
    "part": "develop",
}

CELLS = 16
SOBEL = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]]) / 8


class Automaton(nn.Module):
    def __init__(self, unfolds, hidden=48):
        super().__init__()
        centre = torch.zeros(3, 3)
        centre[1, 1] = 1
        self.register_buffer("filters", torch.stack([centre, SOBEL, SOBEL.T]))
        self.rule = nn.Sequential(nn.Conv2d(3 * CELLS, hidden, 1), nn.ReLU(), nn.Conv2d(hidden, CELLS, 1, bias=False))
        self.unfolds = unfolds

    def perceive(self, grid):
        if self.unfolds:
            b, c, h, w = grid.shape
            around = F.unfold(grid, 3, padding=1).view(b, c, 9, h * w)  # planted
            return torch.einsum("bcnp,fn->bcfp", around, self.filters.flatten(1)).reshape(b, 3 * c, h, w)  # planted
        return F.conv2d(grid, self.filters.repeat(CELLS, 1, 1)[:, None], padding=1, groups=CELLS)

    def forward(self, grid, rounds):
        for _ in range(rounds):
            alive = (torch.rand_like(grid[:, :1]) < 0.5).float()
            grid = grid + alive * self.rule(self.perceive(grid))
        return grid


def seeds(batch, size):
    grid = torch.zeros(batch, CELLS, size, size)
    grid[:, 3:, size // 2, size // 2] = 1.0
    return grid


def main(clock):
    clock.plan(2, 2)
    torch.manual_seed(0)
    model = Automaton(unfolds=not clock.fixed)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3, fused=True)
    target = torch.rand(1, 4, 48, 48)
    for step in clock.loop():
        with clock.mark(step, "grow"):
            grown = model(seeds(4, 48), rounds=6)
            loss = F.mse_loss(grown[:, :4], target.expand(4, -1, -1, -1))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
