"""Sensor series by an MLP mixer, compiled once."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, SENSORS, LENGTH, WIDTH, LAYERS = (512, 64, 256, 512, 4) if BIG else (4, 8, 16, 16, 2)


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.near = nn.Sequential(nn.Linear(SENSORS, 2 * SENSORS), nn.GELU(), nn.Linear(2 * SENSORS, SENSORS))
        self.deep = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.near(self.norm1(x).mT).mT
        return x + self.deep(self.norm2(x))


def forecaster():
    return nn.Sequential(nn.Linear(LENGTH, WIDTH), *[Mixer() for _ in range(LAYERS)], nn.Linear(WIDTH, 24))


def main(clock):
    clock.plan(4, 6)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        model = forecaster()
        past, future = torch.randn(4, BATCH, SENSORS, LENGTH), torch.randn(4, BATCH, SENSORS, 24)
    forward = torch.compile(model, dynamic=False) if BIG else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    for step in clock.loop():
        with clock.mark(step):
            with torch.autocast(DEVICE, torch.bfloat16):
                loss = F.l1_loss(forward(past[step % 4]), future[step % 4])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    run(main)
