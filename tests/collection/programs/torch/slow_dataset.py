import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a dataset that augments in numpy, loaded by the training process itself",
    "cause": "input pipeline",
    "accept": ["input-bound", "python-bound", "python-in-pipeline"],
    "rules": ["input-bound", "python-bound", "python-in-pipeline"],
    "words": ["__getitem__", "SlowImages", "augment", "DataLoader"],
    "part": "develop",
}


class SlowImages(Dataset):
    def __init__(self, is_fixed):
        self.images = np.random.rand(256, 3, 32, 32).astype(np.float32)
        self.is_fixed = is_fixed

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i]
        return torch.from_numpy(image if self.is_fixed else self.augment(image)), i % 10

    def augment(self, image):
        for _ in range(4):
            image = image + np.random.normal(0, 0.05, image.shape).astype(np.float32)  # planted
            image = np.sort(image, axis=2)[:, ::-1].copy()  # planted
        return image


def main(clock):
    clock.plan(2, 5)
    loader = DataLoader(SlowImages(clock.fixed), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_fn = nn.CrossEntropyLoss()
    model(torch.zeros(1, 3, 32, 32))
    for step, (x, y) in enumerate(loader):
        if clock.tick(step):
            break
        with clock.mark(step):
            optimizer.zero_grad()
            loss_fn(model(x), y).backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
