"""A linear system in continuous time, fitted to readings at uneven lags."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each lag takes an exponential of the one matrix of the system times the lag",
    "cause": "the same decomposed again",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["matrix_exp"],
    "part": "develop",
}

STATES, LAGS, SENSORS = 24, 96, 48


class Relaxation(nn.Module):
    def __init__(self, by_values):
        super().__init__()
        self.by_values = by_values
        self.pull = nn.Parameter(torch.randn(STATES, STATES) * 0.2)
        self.read = nn.Linear(STATES, SENSORS)

    def system(self):
        return -(self.pull @ self.pull.T) - 0.1 * torch.eye(STATES)

    def over_lags(self, lags):
        system = self.system()
        if self.by_values:
            values, vectors = torch.linalg.eigh(system)
            return vectors * torch.exp(lags[:, None, None] * values) @ vectors.T
        return torch.matrix_exp(lags[:, None, None] * system)  # planted

    def forward(self, states, lags):
        moved = (self.over_lags(lags) @ states.unsqueeze(-1)).squeeze(-1)
        return self.read(torch.tanh(moved))


def main(clock):
    clock.plan(2, 6)
    torch.manual_seed(2)
    model = Relaxation(by_values=clock.fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    for step in clock.loop():
        with clock.mark(step):
            lags = torch.rand(LAGS) * 4
            states, seen = torch.randn(LAGS, STATES), torch.randn(LAGS, SENSORS)
            loss = (model(states, lags) - seen).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
