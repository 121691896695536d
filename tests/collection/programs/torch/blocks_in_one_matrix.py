"""Poses of a camera path refined by Gauss-Newton, with weights that a net learns."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the normal equations of 96 poses, which do not depend on each other, are laid along the diagonal of one dense matrix of 576 rows, which is solved as a whole",
    "cause": "dense arithmetic on zeros",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["solve_all", "block_diag", "linalg_solve", "aten::linalg_solve_ex", "aten::_linalg_solve_ex", "aten::linalg_lu_solve"],
    "part": "develop",
}

POSES, POINTS, FREE = 96, 40, 6


class Confidence(nn.Module):
    """How far each match is to be trusted."""

    def __init__(self, width=96):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1), nn.Sigmoid())

    def forward(self, features):
        return self.net(features)


def solve_all(normal, right, by_block):
    if by_block:
        return torch.linalg.solve(normal, right)
    whole = torch.block_diag(*normal)  # planted
    return torch.linalg.solve(whole, right.flatten()).view_as(right)  # planted


def refine(jacobians, residuals, weights, by_block):
    """One Gauss-Newton step for each pose."""
    weighted = jacobians * weights
    normal = weighted.transpose(1, 2) @ jacobians + 1e-3 * torch.eye(FREE)
    right = (weighted.transpose(1, 2) @ residuals).squeeze(-1)
    return solve_all(normal, right, by_block)


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    model = Confidence()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in clock.loop():
        with clock.mark(step):
            features = torch.randn(POSES, POINTS, 16)
            jacobians, truth = torch.randn(POSES, POINTS, FREE), torch.randn(POSES, FREE)
            noise = 0.3 * torch.randn(POSES, POINTS, 1) * features[..., :1].abs()
            residuals = jacobians @ truth[..., None] + noise
            found = refine(jacobians, residuals, model(features), by_block=clock.fixed)
            loss = (found - truth).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
