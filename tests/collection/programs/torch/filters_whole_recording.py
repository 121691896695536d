"""Imagined movements from EEG: EEGNet on windows of two seconds."""
import sys
from pathlib import Path

import numpy as np
import torch
from scipy.signal import butter, sosfiltfilt
from torch import nn
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the band-pass filter runs forward and backward over the whole recording of a subject for each window of two seconds that is cut out of it",
    "cause": "input, the same work for each item",
    "accept": ["largest-part", "input-bound", "loader-workers", "python-bound", "missing-prefetch", "no-cache", "host-input-limit"],
    "rules": ["input-bound", "loader-workers", "python-bound", "missing-prefetch", "no-cache", "host-input-limit"],
    "words": ["sosfiltfilt", "EEGWindows", "sosfilt", "band_pass", "DataLoader"],
    "part": "develop",
}

RATE, CHANNELS, SECONDS = 128, 12, 40


def band_pass(x, low=4.0, high=38.0):
    sos = butter(4, (low, high), "bandpass", fs=RATE, output="sos")
    return sosfiltfilt(sos, x, axis=-1).astype("float32")  # planted


class EEGWindows(Dataset):
    def __init__(self, recordings, cues, filter_once):
        self.is_filtered = filter_once
        self.recordings = [band_pass(x) for x in recordings] if filter_once else recordings
        self.cues = cues

    def __len__(self):
        return len(self.cues)

    def __getitem__(self, i):
        subject, onset, label = self.cues[i]
        x = self.recordings[subject]
        if not self.is_filtered:
            x = band_pass(x)  # planted
        window = x[:, onset : onset + 2 * RATE]
        return torch.from_numpy((window - window.mean(-1, keepdims=True)) / (window.std() + 1e-6)), label


class EEGNet(nn.Module):
    def __init__(self, classes=4, f1=8, depth=2):
        super().__init__()
        f2 = f1 * depth
        self.time = nn.Conv2d(1, f1, (1, 64), padding=(0, 32), bias=False)
        self.space = nn.Conv2d(f1, f2, (CHANNELS, 1), groups=f1, bias=False)
        self.rest = nn.Sequential(nn.BatchNorm2d(f2), nn.ELU(), nn.AvgPool2d((1, 4)), nn.Conv2d(f2, f2, (1, 16), padding=(0, 8), groups=f2), nn.Conv2d(f2, f2, 1), nn.BatchNorm2d(f2), nn.ELU(), nn.AvgPool2d((1, 8)), nn.Flatten(), nn.LazyLinear(classes))

    def forward(self, x):
        return self.rest(self.space(self.time(x.unsqueeze(1))))


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    recordings = [rng.standard_normal((CHANNELS, SECONDS * RATE)).astype("float32") for _ in range(4)]
    cues = [(int(rng.integers(4)), int(rng.integers(0, (SECONDS - 2) * RATE)), int(rng.integers(4))) for _ in range(400)]
    loader = DataLoader(EEGWindows(recordings, cues, filter_once=clock.fixed), batch_size=16, shuffle=True)
    model = EEGNet()
    model(torch.zeros(1, CHANNELS, 2 * RATE))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step, (x, y) in enumerate(loader):
        if clock.tick(step):
            break
        with clock.mark(step):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
