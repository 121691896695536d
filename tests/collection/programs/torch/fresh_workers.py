import random
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
    "planted": "the loader's worker is started again for every epoch, and an epoch has four batches",
    "cause": "processes started again and again",
    "accept": ["largest-part", "input-bound", "loader-workers", "uneven-steps", "slow-steps"],
    "rules": ["input-bound", "loader-workers", "uneven-steps", "slow-steps"],
    "words": ["_MultiProcessingDataLoaderIter", "popen_fork.py", "Popen", "_launch", "_shutdown_workers"],
    "part": "develop",
}

BATCH_SIZE = 32
NUM_EPOCHS = 50


class RetinaSet(Dataset):
    """Few images, as in medicine; flips and crops at each access."""

    def __init__(self, count=128, size=72):
        rng = np.random.default_rng(3)
        self.images = rng.integers(0, 255, (count, size, size, 3), dtype=np.uint8)
        self.grades = rng.integers(0, 5, count)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        top, left = random.randrange(8), random.randrange(8)
        image = self.images[index, top : top + 64, left : left + 64]
        if random.random() < 0.5:
            image = image[:, ::-1]
        image = torch.from_numpy(np.ascontiguousarray(image)).permute(2, 0, 1)
        return image.float().div_(255), int(self.grades[index])


def conv_block(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
    )


class Grader(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(conv_block(3, 24), conv_block(24, 48), conv_block(48, 96))
        self.head = nn.Linear(96, 5)

    def forward(self, x):
        return self.head(self.blocks(x).mean((2, 3)))


def loader_for(data, keep):
    return DataLoader(
        data,
        batch_size=BATCH_SIZE,
        shuffle=True,
        num_workers=1,
        persistent_workers=keep,
    )


def main(clock):
    clock.plan(4, 8)
    torch.manual_seed(0)
    loader = loader_for(RetinaSet(), keep=clock.fixed)
    model = Grader()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    step = 0
    for epoch in range(NUM_EPOCHS):
        for images, grades in loader:  # planted
            if clock.tick(step):
                return
            with clock.mark(step):
                optimizer.zero_grad(set_to_none=True)
                loss = F.cross_entropy(model(images), grades)
                loss.backward()
                optimizer.step()
            step += 1


if __name__ == "__main__":
    run(main)
