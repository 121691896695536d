"""Stochastic weight averaging of a small residual net for textures."""
import sys
from pathlib import Path

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, update_bn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "after each step the averaged model runs over four batches to renew its batch normalisation, which only its final weights need",
    "cause": "work done more often than it is needed",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["update_bn", "AveragedModel", "swa_utils"],
    "part": "develop",
}


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )

    def forward(self, x):
        return torch.relu(x + self.body(x))


def texture_net(width=32, classes=12):
    return nn.Sequential(
        nn.Conv2d(3, width, 4, 2, 1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        Residual(width),
        Residual(width),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(width, classes),
    )


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = texture_net()
    average = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    batches = [(torch.randn(16, 3, 32, 32), torch.randint(0, 12, (16,))) for _ in range(4)]
    for step in clock.loop():
        with clock.mark(step):
            images, labels = batches[step % 4]
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
            average.update_parameters(model)
            if not clock.fixed:
                update_bn(batches, average)  # planted
    if clock.fixed:
        update_bn(batches, average)


if __name__ == "__main__":
    run(main)
