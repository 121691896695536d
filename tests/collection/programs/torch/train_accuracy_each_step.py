import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the accuracy on all training images is computed after every batch",
    "cause": "evaluation inside of the loop",
    "accept": [],
    "rules": [],
    "words": ["train_accuracy"],
    "part": "develop",
}


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 10))

    def forward(self, x):
        return self.head(self.features(x))


def train_accuracy(model, images, labels):
    correct = 0
    with torch.no_grad():
        for x, y in zip(images.split(100), labels.split(100)):
            correct += (model(x).argmax(1) == y).sum()  # planted
    return correct / len(images)


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    images, labels = torch.rand(1000, 1, 28, 28), torch.randint(0, 10, (1000,))
    model = LeNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in clock.loop():
        with clock.mark(step):
            at = torch.randint(0, 1000, (128,))
            loss = nn.functional.cross_entropy(model(images[at]), labels[at])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if not clock.fixed:
                train_accuracy(model, images, labels)


if __name__ == "__main__":
    run(main)
