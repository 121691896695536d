"""An echo state network listens to a sensor that has fallen silent."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the leaky states die away to denormal numbers, on which every product takes a hundred times as long; set_flush_denormal(True) makes them zero",
    "cause": "denormal numbers",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["leak", "denormal", "set_flush_denormal", "aten::mul_"],
    "part": "develop",
}

SENSORS, STATES, BATCH, CHUNK = 8, 1024, 20, 6


class Reservoir(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("inputs", 0.3 * torch.randn(SENSORS, STATES))
        self.register_buffer("rates", torch.full((STATES,), 0.97))
        self.register_buffer("fast", torch.zeros(BATCH, STATES))
        self.register_buffer("slow", torch.zeros(BATCH, STATES))

    def leak(self):
        self.fast.mul_(self.rates)  # planted
        self.slow.mul_(0.995 * self.rates).add_(self.fast, alpha=0.03)  # planted

    def forward(self, signal):
        features = []
        for x in signal:
            self.leak()
            self.fast.add_(torch.relu(x @ self.inputs))
            features.append(torch.cat([self.fast, self.slow], 1))
        return torch.stack(features)


def main(clock):
    clock.plan(4, 5)
    torch.manual_seed(0)
    torch.set_flush_denormal(clock.fixed)
    reservoir, readout = Reservoir(), nn.Linear(2 * STATES, 1)
    optimizer = torch.optim.SGD(readout.parameters(), 1e-3)
    # A second of sound, long ago: since then the states have halved again and again.
    reservoir.fast += 1e-39 * torch.rand_like(reservoir.fast)
    reservoir.slow += 1e-39 * torch.rand_like(reservoir.slow)
    silence = torch.zeros(CHUNK, BATCH, SENSORS)
    wanted = torch.zeros(CHUNK, BATCH, 1)
    for step in clock.loop():
        with clock.mark(step):
            features = reservoir(silence)
            loss = nn.functional.mse_loss(readout(features), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
