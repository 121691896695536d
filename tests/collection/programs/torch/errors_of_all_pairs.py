import sys
from pathlib import Path

import torch
import torch.nn as nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "predictions of shape (B, 1) less targets of shape (B,) make the errors of all pairs",
    "cause": "wrong shape",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["QuantileHuber", "1024×1024", "elementwise"],
    "part": "develop",
}


class TabNet(nn.Module):
    def __init__(self, fields=24, dim=64):
        super().__init__()
        self.norm = nn.BatchNorm1d(fields)
        self.net = nn.Sequential(
            nn.Linear(fields, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1)
        )

    def forward(self, x):
        return self.net(self.norm(x))


class QuantileHuber(nn.Module):
    def __init__(self, delta=1.0):
        super().__init__()
        self.delta = delta

    def forward(self, pred, target):
        error = pred - target  # planted
        small = error.abs().clamp(max=self.delta)
        return (0.5 * small**2 + self.delta * (error.abs() - small)).mean()


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    model, criterion = TabNet(), QuantileHuber()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randn(10240, 24), torch.randn(10240)
    for step in clock.loop():
        with clock.mark(step):
            rows = slice(step * 1024, step * 1024 + 1024)
            predicted = model(x[rows])
            loss = criterion(predicted.squeeze(-1) if clock.fixed else predicted, y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
