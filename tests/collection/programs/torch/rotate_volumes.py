import sys
from pathlib import Path

import numpy as np
import torch
from scipy import ndimage
from torch import nn
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each scan is turned by scipy's cubic splines, in the loader's transform, in the training process",
    "cause": "slow augmentation",
    "accept": ["python-bound", "input-bound", "loader-workers"],
    "rules": ["python-bound", "input-bound", "loader-workers"],
    "words": ["rotate", "ndimage", "RandomRotate", "DataLoader", "Scans"],
    "part": "develop",
}


class RandomRotate:
    def __init__(self, degrees, order):
        self.degrees = degrees
        self.order = order

    def __call__(self, volume):
        angle = np.random.uniform(-self.degrees, self.degrees)
        return ndimage.rotate(volume, angle, axes=(1, 2), reshape=False, order=self.order)  # planted


class RandomFlip:
    def __call__(self, volume):
        return volume[:, ::-1].copy() if np.random.random() < 0.5 else volume


class Scans(Dataset):
    def __init__(self, transforms):
        self.volumes = np.random.default_rng(0).random((32, 24, 48, 48), np.float32)
        self.transforms = transforms

    def __len__(self):
        return 10_000

    def __getitem__(self, index):
        volume = self.volumes[index % 32]
        for transform in self.transforms:
            volume = transform(volume)
        return torch.from_numpy(volume)[None], index % 2


def main(clock):
    clock.plan(2, 6)
    transforms = [RandomFlip()] if clock.fixed else [RandomFlip(), RandomRotate(15, order=3)]
    loader = DataLoader(Scans(transforms), batch_size=4, shuffle=False)
    model = nn.Sequential(
        nn.Conv3d(1, 8, 3, stride=2), nn.ReLU(), nn.Conv3d(8, 32, 3), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(32, 2)
    )
    optimizer = torch.optim.Adam(model.parameters())
    for step, (x, y) in enumerate(loader):
        if clock.tick(step):
            break
        with clock.mark(step):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
