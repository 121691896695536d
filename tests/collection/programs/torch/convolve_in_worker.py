import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from scipy.signal import fftconvolve
from torch import nn
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the reverberation of the augmentation convolves directly with an impulse response of thousands of samples, in the loader's worker",
    "cause": "an input pipeline too slow",
    "accept": ["largest-part", "input-bound", "loader-workers", "host-input-limit"],
    "rules": ["input-bound", "loader-workers", "host-input-limit"],
    "words": [
        "convolve", "RoomReverb", "_MultiProcessingDataLoaderIter", "_try_get_data",
    ],
    "part": "develop",
}  # fmt: skip

SAMPLE_RATE = 8000


class RoomReverb:
    def __init__(self, convolve, seconds=0.25, seed=0):
        rng = np.random.default_rng(seed)
        taps = int(seconds * SAMPLE_RATE)
        decay = np.exp(-6 * np.arange(taps) / taps)
        self.impulse = (rng.normal(size=taps) * decay).astype(np.float32)
        self.convolve = convolve

    def __call__(self, wave):
        wet = self.convolve(wave, self.impulse)[: len(wave)]  # planted
        return (wet / (np.abs(wet).max() + 1e-6)).astype(np.float32)


class AddNoise:
    def __call__(self, wave):
        return wave + 0.01 * np.random.randn(len(wave)).astype(np.float32)


class Compose:
    def __init__(self, *transforms):
        self.transforms = transforms

    def __call__(self, wave):
        for transform in self.transforms:
            wave = transform(wave)
        return wave


class Keywords(Dataset):
    def __init__(self, transform, count=4096):
        rng = np.random.default_rng(1)
        self.waves = rng.normal(size=(64, SAMPLE_RATE)).astype(np.float32)
        self.labels = rng.integers(0, 12, count)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.transform(self.waves[index % 64])[None], self.labels[index]


class M5(nn.Module):
    def __init__(self, classes=12, width=32):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv1d(1, width, 80, stride=16), nn.BatchNorm1d(width)
        self.conv2, self.bn2 = nn.Conv1d(width, width, 3), nn.BatchNorm1d(width)
        self.conv3, self.bn3 = nn.Conv1d(width, 2 * width, 3), nn.BatchNorm1d(2 * width)
        self.fc1 = nn.Linear(2 * width, classes)

    def forward(self, x):
        x = F.max_pool1d(F.relu(self.bn1(self.conv1(x))), 4)
        x = F.max_pool1d(F.relu(self.bn2(self.conv2(x))), 4)
        x = F.relu(self.bn3(self.conv3(x))).mean(2)
        return self.fc1(x)


def main(clock):
    clock.plan(5, 6)
    torch.manual_seed(0)
    transform = Compose(RoomReverb(fftconvolve if clock.fixed else np.convolve), AddNoise())
    loader = DataLoader(Keywords(transform), batch_size=24, num_workers=1, drop_last=True)
    model = M5()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-4)
    for step, (waves, labels) in enumerate(loader):
        if clock.tick(step):
            return
        with clock.mark(step):
            loss = F.cross_entropy(model(waves), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
