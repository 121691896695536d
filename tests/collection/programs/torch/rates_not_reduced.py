"""Bearings by their vibration: records of 4800 Hz are brought to 1600 Hz for an older net."""
import math
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "rates are not divided by their greatest common divisor, so the resampler makes 320 kernels of a thousand taps for what one of a few dozen does",
    "cause": "needlessly large work for the same result",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["sinc_kernel", "resample", "aten::sinc", "Resample"],
    "part": "score",
}


def sinc_kernel(old, new, zeros=6, rolloff=0.95):
    base = min(old, new) * rolloff
    width = math.ceil(zeros * old / base)
    idx = torch.arange(-width, width + old)[None, None] / old
    t = torch.arange(0, -new, -1)[:, None, None] / new + idx  # planted
    t = (t * base).clamp(-zeros, zeros)
    window = torch.cos(t * math.pi / zeros / 2) ** 2
    return torch.sinc(t) * window * base / old, width


class Resample(nn.Module):
    def __init__(self, old, new, reduce):
        super().__init__()
        gcd = math.gcd(old, new) if reduce else 15
        self.old, self.new = old // gcd, new // gcd
        kernel, self.width = sinc_kernel(self.old, self.new)
        self.register_buffer("kernel", kernel)

    def forward(self, wave):
        length = wave.shape[-1]
        padded = nn.functional.pad(wave[:, None], (self.width, self.width + self.old))
        out = nn.functional.conv1d(padded, self.kernel, stride=self.old)  # planted
        return out.transpose(1, 2).flatten(1)[:, : math.ceil(self.new * length / self.old)]


class BearingNet(nn.Module):
    def __init__(self, front):
        super().__init__()
        self.front = front
        self.body = nn.Sequential(
            nn.Conv1d(1, 16, 64, 8), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 5), nn.BatchNorm1d(32), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(32, 48, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
        )
        self.head = nn.Linear(48, 10)

    def forward(self, wave):
        return self.head(self.body(self.front(wave)[:, None]))


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    model = BearingNet(Resample(4800, 1600, reduce=clock.fixed))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for step in clock.loop():
        with clock.mark(step):
            wave, fault = torch.randn(16, 9600), torch.randint(10, (16,))
            loss = nn.functional.cross_entropy(model(wave), fault)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
