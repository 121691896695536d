import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the penalty against forgetting is summed over all former tasks and parameters in each step, though their sum is one quadratic",
    "cause": "a costly way to compute the same",
    "accept": ["largest-part", "python-bound"],
    "rules": ["python-bound"],
    "words": ["forgetting_penalty", "ElasticWeights"],
    "part": "develop",
}

LAMBDA, TASKS = 40.0, 6


class MLP(nn.Module):
    def __init__(self, width=512):
        super().__init__()
        self.fc1 = nn.Linear(784, width)
        self.fc2 = nn.Linear(width, width)
        self.fc3 = nn.Linear(width, 10)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class ElasticWeights:
    """Elastic weight consolidation: importance and optimum of each task seen so far."""

    def __init__(self, model):
        self.model, self.fishers, self.optima = model, [], []

    def register_task(self, fisher):
        self.fishers.append(fisher)
        self.optima.append({n: p.detach().clone() for n, p in self.model.named_parameters()})

    def forgetting_penalty(self):
        loss = 0.0
        for fisher, optimum in zip(self.fishers, self.optima):
            for name, p in self.model.named_parameters():
                loss = loss + (fisher[name] * (p - optimum[name]) ** 2).sum()  # planted
        return LAMBDA / 2 * loss


class MergedWeights(ElasticWeights):
    """The same up to a constant: sum F (p - a)^2 = (sum F) (p - mean)^2 + ..."""

    def merge(self):
        self.fisher, self.centre = {}, {}
        for name, _ in self.model.named_parameters():
            self.fisher[name] = sum(f[name] for f in self.fishers)
            pulled = sum(f[name] * o[name] for f, o in zip(self.fishers, self.optima))
            self.centre[name] = pulled / self.fisher[name]

    def forgetting_penalty(self):
        loss = 0.0
        for name, p in self.model.named_parameters():
            loss = loss + (self.fisher[name] * (p - self.centre[name]) ** 2).sum()
        return LAMBDA / 2 * loss


def permuted(images, task):
    return images[:, torch.randperm(784, generator=torch.Generator().manual_seed(task))]


def main(clock):
    clock.plan(3, 3)
    torch.manual_seed(0)
    model = MLP()
    ewc = (MergedWeights if clock.fixed else ElasticWeights)(model)
    for _ in range(TASKS):
        ewc.register_task({n: torch.rand_like(p) + 1e-3 for n, p in model.named_parameters()})
    if clock.fixed:
        ewc.merge()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    images = permuted(torch.rand(2048, 784), TASKS)
    labels = torch.randint(0, 10, (2048,))
    for step in clock.loop():
        with clock.mark(step):
            rows = torch.randint(0, 2048, (256,))
            loss = F.cross_entropy(model(images[rows]), labels[rows]) + ewc.forgetting_penalty()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
