import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a Gaussian blur in Python, pixel by pixel, in the data set, without workers",
    "cause": "input",
    "accept": ["input-bound", "python-bound", "python-in-pipeline"],
    "rules": ["input-bound", "python-bound", "python-in-pipeline"],
    "words": ["gaussian_blur"],
    "part": "develop",
}


def gaussian_blur(image, sigma=1.0):
    offsets = range(-1, 2)
    kernel = np.exp(-np.array([[i * i + j * j for j in offsets] for i in offsets]) / (2 * sigma**2))
    padded, out = np.pad(image, 1, mode="reflect"), np.empty_like(image)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            out[i, j] = (padded[i : i + 3, j : j + 3] * kernel).sum() / kernel.sum()  # planted
    return out


class Digits(Dataset):
    def __init__(self, images, labels, blur):
        self.images, self.labels, self.blur = images, labels, blur

    def __len__(self):
        return len(self.images)

    def __getitem__(self, at):
        image = self.images[at]
        if self.blur:
            image = self.blur(image)
        return torch.from_numpy(image)[None], int(self.labels[at])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3)
        self.conv2 = nn.Conv2d(16, 32, 3)
        self.fc = nn.Linear(32 * 36, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.relu(self.conv2(x))
        return self.fc(nn.functional.adaptive_avg_pool2d(x, 6).flatten(1))


def main(clock):
    clock.plan(1, 4)
    random = np.random.default_rng(0)
    data = Digits(
        random.random((256, 20, 20), np.float32), random.integers(0, 10, 256),
        None if clock.fixed else gaussian_blur,
    )
    loader = DataLoader(data, batch_size=16, shuffle=True)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, (x, y) in enumerate(loader):
        if clock.tick(step):
            break
        with clock.mark(step):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
