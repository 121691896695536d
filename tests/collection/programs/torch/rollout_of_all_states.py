"""A forecaster of loads: a transformer that predicts hour after hour from all hours before."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each hour of the forecast encodes all hours of the past again, though nothing of them has changed",
    "cause": "work that is done again",
    "accept": ["no-kv-cache", "largest-part", "dominant-op", "no-xla"],
    "rules": ["no-kv-cache"],
    "words": ["forecast", "encode", "aten::addmm", "aten::linear"],
    "part": "develop",
}

FEATURES, WIDTH, PAST, AHEAD, SITES = 16, 192, 24, 10, 32


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.hour = nn.Sequential(nn.Linear(FEATURES, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH), nn.GELU())
        self.query, self.value = nn.Linear(WIDTH, 1), nn.Linear(WIDTH, FEATURES)

    def encode(self, hours):
        return self.hour(hours)

    def predict(self, codes):
        weights = self.query(codes).softmax(1)
        return self.value((weights * codes).sum(1))

    def forecast(self, hours, keeps):
        codes = self.encode(hours)
        found = []
        for _ in range(AHEAD):
            new = self.predict(codes)
            found.append(new)
            if keeps:
                codes = torch.cat([codes, self.encode(new[:, None])], 1)
            else:
                hours = torch.cat([hours, new[:, None]], 1)
                codes = self.encode(hours)  # planted
        return torch.stack(found, 1)


def main(clock):
    clock.plan(3, 3)
    torch.manual_seed(0)
    model = Forecaster().eval()
    loads = torch.randn(12, SITES, PAST, FEATURES)
    for step in clock.loop():
        with clock.mark(step, "forecast"), torch.inference_mode():
            model.forecast(loads[step], clock.fixed)


if __name__ == "__main__":
    run(main)
