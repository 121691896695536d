"""Quantisation-aware training of a wake-word net: observers find the ranges, weights follow."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "observers keep counting histograms and searching the best range after calibration is over; nobody disables them",
    "cause": "a phase that is over goes on",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["HistogramObserver", "observe", "best_range", "aten::histc"],
    "part": "score",
}


class HistogramObserver(nn.Module):
    def __init__(self, bins=512):
        super().__init__()
        self.bins, self.enabled = bins, True
        self.register_buffer("counts", torch.zeros(bins))
        self.register_buffer("limit", torch.tensor(4.0))

    def best_range(self):
        centers = (torch.arange(self.bins) + 0.5) * 8.0 / self.bins - 4.0
        best, limit = float("inf"), 4.0
        for cut in torch.linspace(0.5, 4.0, 12).tolist():
            scale = cut / 127
            rounded = (centers / scale).round().clamp(-127, 127) * scale
            error = float(((rounded - centers) ** 2 * self.counts).sum())  # planted
            best, limit = min((best, limit), (error, cut))
        return limit

    def observe(self, x):
        self.counts += torch.histc(x, self.bins, -4.0, 4.0)  # planted
        self.limit.fill_(self.best_range())  # planted

    def forward(self, x):
        if self.enabled:
            self.observe(x.detach())
        scale = float(self.limit) / 127
        return torch.fake_quantize_per_tensor_affine(x, scale, 0, -128, 127)


class QConv(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.conv = nn.Conv1d(a, b, 9, stride, 4)
        self.act, self.weight = HistogramObserver(), HistogramObserver()

    def forward(self, x):
        w = self.weight(self.conv.weight)
        return self.act(torch.relu(nn.functional.conv1d(x, w, self.conv.bias, self.conv.stride, 4)))


class WakeWord(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(QConv(40, 48, 1), QConv(48, 48, 2), QConv(48, 64, 2))
        self.head = nn.Linear(64, 3)

    def forward(self, mels):
        return self.head(self.convs(mels).mean(-1))


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    model = WakeWord()
    model(torch.randn(8, 40, 98))
    if clock.fixed:
        for module in model.modules():
            if isinstance(module, HistogramObserver):
                module.enabled = False
    opt = torch.optim.Adam(model.parameters(), 1e-4)
    for step in clock.loop():
        with clock.mark(step):
            loss = nn.functional.cross_entropy(model(torch.randn(48, 40, 98)), torch.randint(3, (48,)))
            opt.zero_grad()
            loss.backward()
            opt.step()


if __name__ == "__main__":
    run(main)
