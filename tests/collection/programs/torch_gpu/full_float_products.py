"""Spectroscopy: the composition of a sample from its spectrum, by a wide residual network."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "matrix products run in full float32 on CUDA cores, as is the default; tensor cores would take them as TF32",
    "cause": "a slower number format than needed",
    "accept": ["largest-part", "dominant-op", "tensor-cores-unused", "full-precision"],
    "rules": ["dominant-op", "tensor-cores-unused", "full-precision"],
    "words": ["set_float32_matmul_precision", "aten::addmm", "aten::mm", "AddmmBackward0", "aten::linear", "sgemm", "TF32"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, CHANNELS, WIDTH, DEPTH, OXIDES = (4096, 2048, 2048, 4, 12) if BIG else (16, 64, 64, 2, 12)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(F.relu(self.up(self.norm(x))))


def prepare(precision):
    torch.set_float32_matmul_precision(precision)  # planted
    torch.manual_seed(0)
    with torch.device(DEVICE):
        net = nn.Sequential(nn.Linear(CHANNELS, WIDTH), *[Residual() for _ in range(DEPTH)], nn.Linear(WIDTH, OXIDES))
        return net, torch.rand(4, BATCH, CHANNELS), torch.rand(4, BATCH, OXIDES)


def main(clock):
    clock.plan(3, 6)
    net, spectra, oxides = prepare("high" if clock.fixed else "highest")
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, weight_decay=1e-3, fused=True)
    for step in clock.loop():
        with clock.mark(step):
            loss = F.smooth_l1_loss(net(spectra[step % 4]), oxides[step % 4])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    run(main)
