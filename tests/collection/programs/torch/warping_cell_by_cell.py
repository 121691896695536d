"""Forecasts of human motion with a soft-DTW loss (Cuturi & Blondel 2017)."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "soft-DTW fills its table cell by cell with small tensor ops, where a whole diagonal is independent",
    "cause": "many tiny ops",
    "accept": ["largest-part", "eager-execution", "tiny-kernels", "launch-bound", "python-bound", "tiny-ops", "unfused-ops"],
    "rules": ["eager-execution", "tiny-kernels", "launch-bound", "python-bound", "tiny-ops", "unfused-ops"],
    "words": ["soft_dtw", "soft_min", "aten::logsumexp"],
    "part": "develop",
}

JOINTS, PAST, AHEAD, GAMMA = 22, 12, 7, 0.1


def soft_min(a, b, c):
    return -GAMMA * torch.logsumexp(torch.stack([a, b, c], -1) / -GAMMA, -1)


def soft_dtw(cost):
    b, n, m = cost.shape
    far = cost.new_full((b,), 1e6)
    table = {(0, 0): cost.new_zeros(b)}
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best = soft_min(table.get((i - 1, j - 1), far), table.get((i - 1, j), far), table.get((i, j - 1), far))  # planted
            table[i, j] = cost[:, i - 1, j - 1] + best  # planted
    return table[n, m]


def soft_dtw_by_diagonal(cost):
    b, n, m = cost.shape
    rows = torch.arange(n)[:, None]
    columns = torch.arange(n + m - 1) - rows
    inside = (columns >= 0) & (columns < m)
    skewed = cost[:, rows, columns.clamp(0, m - 1)].masked_fill(~inside, 1e6).unbind(2)
    far = cost.new_full((b, 1), 1e6)
    last = far.expand(-1, n + 1)
    before = torch.cat([torch.zeros_like(far), last[:, 1:]], 1)
    for diagonal in skewed:
        near = soft_min(before[:, :-1], last[:, :-1], last[:, 1:])
        before, last = last, torch.cat([far, diagonal + near], 1)
    return last[:, n]


class MotionMLP(nn.Module):
    def __init__(self, size=3 * JOINTS, hidden=192):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(PAST * size, hidden), nn.ReLU(), nn.Linear(hidden, AHEAD * size))

    def forward(self, past):
        return self.net(past).unflatten(-1, (AHEAD, -1))


def main(clock):
    clock.plan(3, 2)
    torch.manual_seed(0)
    model = MotionMLP()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    motions = torch.cumsum(0.02 * torch.randn(8, 24, PAST + AHEAD, 3 * JOINTS), 2)
    loss_of = soft_dtw_by_diagonal if clock.fixed else soft_dtw
    for step in clock.loop():
        with clock.mark(step):
            past, future = motions[step].split([PAST, AHEAD], 1)
            cost = torch.cdist(model(past), future) ** 2
            loss = loss_of(cost).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
