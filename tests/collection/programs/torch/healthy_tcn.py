import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": None,
    "cause": "healthy",
    "accept": [],
    "rules": [],
    "words": [],
    "part": "develop",
}


class Electricity(Dataset):
    """Windows of a few hundred series that lie in one array."""

    def __init__(self, series=370, hours=4000, window=192, horizon=24):
        rng = np.random.default_rng(0)
        hour = np.arange(hours)
        base = np.sin(hour / 24 * 2 * np.pi) + 0.5 * np.sin(hour / 168 * 2 * np.pi)
        self.values = (base + 0.1 * rng.normal(size=(series, hours))).astype(np.float32)
        self.window, self.horizon = window, horizon

    def __len__(self):
        return 20_000

    def __getitem__(self, index):
        row, at = index % len(self.values), (index * 7) % (4000 - self.window - self.horizon)
        values = self.values[row, at : at + self.window + self.horizon]
        return values[None, : self.window], values[self.window :]


class TemporalBlock(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv1 = nn.Conv1d(channels, channels, 3, dilation=dilation)
        self.conv2 = nn.Conv1d(channels, channels, 3, dilation=dilation)

    def forward(self, x):
        y = F.relu(self.conv1(F.pad(x, (self.pad, 0))))
        return F.relu(x + self.conv2(F.pad(y, (self.pad, 0))))


class TCN(nn.Module):
    def __init__(self, channels=64, levels=4, horizon=24):
        super().__init__()
        self.inputs = nn.Conv1d(1, channels, 1)
        self.blocks = nn.Sequential(*[TemporalBlock(channels, 2**i) for i in range(levels)])
        self.out = nn.Linear(channels, horizon)

    def forward(self, x):
        return self.out(self.blocks(self.inputs(x))[:, :, -1])


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    loader = DataLoader(
        Electricity(), batch_size=48, num_workers=1, persistent_workers=True, prefetch_factor=4
    )
    model = TCN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9999)
    for step, (past, future) in enumerate(loader):
        if clock.tick(step):
            return
        with clock.mark(step):
            optimizer.zero_grad()
            loss = F.smooth_l1_loss(model(past), future)
            loss.backward()
            optimizer.step()
            scheduler.step()


if __name__ == "__main__":
    run(main)
