"""A physics-informed net for Helmholtz's equation, trained by L-BFGS with its closure."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the closure also computes the error on a grid of 100 x 100 points for the log, and L-BFGS calls it twice a step",
    "cause": "work for display in each step",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["error_on_grid"],
    "part": "develop",
}

WIDTH, POINTS, GRID, WAVE = 64, 400, 100, 3.0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.tanh(layer(x))
        return self.layers[-1](x)


def solution(x):
    return torch.sin(WAVE * x[:, :1]) * torch.sin(WAVE * x[:, 1:])


def residual(net, x):
    x = x.requires_grad_()
    u = net(x)
    (first,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    laplacian = sum(torch.autograd.grad(first[:, i].sum(), x, create_graph=True)[0][:, i] for i in range(2))
    return laplacian + 2 * WAVE**2 * u[:, 0]


@torch.no_grad()
def error_on_grid(net, grid):
    return float((net(grid) - solution(grid)).norm() / solution(grid).norm())  # planted


class Trainer:
    def __init__(self, log_inside):
        self.net, self.log_inside, self.errors = Net(), log_inside, []
        self.optimizer = torch.optim.LBFGS(self.net.parameters(), lr=0.1, max_iter=2, tolerance_grad=0.0, tolerance_change=0.0)
        self.inner, self.border = torch.rand(POINTS, 2), torch.rand(200, 2).round(decimals=1)
        axis = torch.linspace(0, 1, GRID)
        self.grid = torch.cartesian_prod(axis, axis)

    def closure(self):
        self.optimizer.zero_grad()
        loss = residual(self.net, self.inner).square().mean()
        loss = loss + (self.net(self.border) - solution(self.border)).square().mean()
        loss.backward()
        if self.log_inside:
            self.errors.append(error_on_grid(self.net, self.grid))
        return loss

    def step(self):
        self.optimizer.step(self.closure)


def main(clock):
    clock.plan(3, 2)
    torch.manual_seed(0)
    trainer = Trainer(log_inside=not clock.fixed)
    for step in clock.loop():
        with clock.mark(step):
            trainer.step()


if __name__ == "__main__":
    run(main)
