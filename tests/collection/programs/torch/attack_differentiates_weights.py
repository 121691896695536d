"""Adversarial training (Madry et al.): PGD on the batch, then a step."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each step of the attack calls backward(), which computes gradients of all weights too, and they are cleared unused",
    "cause": "work done in vain",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["attack", "pgd"],
    "part": "develop",
}


class WideNet(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, 1, 1)
        self.conv2 = nn.Conv2d(width, width, 3, 2, 1)
        self.conv3 = nn.Conv2d(width, 2 * width, 3, 2, 1)
        self.fc1 = nn.Linear(2 * width * 64, 1536)
        self.fc2 = nn.Linear(1536, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.conv3(x))
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def pgd(model, x, y, eps, alpha, iterations, only_input):
    delta = torch.empty_like(x).uniform_(-eps, eps)
    for _ in range(iterations):
        delta.requires_grad_(True)
        loss = F.cross_entropy(model((x + delta).clamp(0, 1)), y)
        if only_input:
            (gradient,) = torch.autograd.grad(loss, delta)
        else:
            loss.backward()  # planted
            gradient = delta.grad
            model.zero_grad()
        delta = (delta.detach() + alpha * gradient.sign()).clamp(-eps, eps)
    return (x + delta).clamp(0, 1)


class RobustTrainer:
    def __init__(self, only_input):
        self.model = WideNet()
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.01)
        self.only_input = only_input

    def attack(self, x, y):
        return pgd(self.model, x, y, 8 / 255, 2 / 255, 4, self.only_input)  # planted

    def step(self, x, y):
        loss = F.cross_entropy(self.model(self.attack(x, y)), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    trainer = RobustTrainer(only_input=clock.fixed)
    x, y = torch.rand(12, 6, 3, 32, 32), torch.randint(10, (12, 6))
    for step in clock.loop():
        with clock.mark(step):
            trainer.step(x[step], y[step])


if __name__ == "__main__":
    run(main)
