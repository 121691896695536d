"""Rare clicks among many, in batches drawn by weight."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the batch sampler divides all weights by their sum and draws from them for every batch",
    "cause": "input in the training process",
    "accept": ["input-bound", "loader-workers", "largest-part", "python-bound"],
    "rules": ["input-bound", "loader-workers", "python-bound"],
    "words": ["Balanced", "aten/multinomial"],
    "part": "develop",
}

ROWS, BATCH = 150_000, 256


class Clicks(Dataset):
    def __init__(self):
        self.rows = torch.randn(ROWS, 16)
        self.clicked = (torch.rand(ROWS) < 0.03).long()

    def __len__(self):
        return ROWS

    def __getitems__(self, chosen):
        chosen = torch.as_tensor(chosen)
        return self.rows[chosen], self.clicked[chosen]


class Balanced(Sampler):
    def __init__(self, weights, is_fixed):
        self.weights, self.is_fixed = weights, is_fixed

    def __iter__(self):
        if self.is_fixed:
            while True:
                drawn = torch.multinomial(self.weights, 20 * BATCH, replacement=True)
                yield from drawn.split(BATCH)
        while True:
            share = self.weights / self.weights.sum()  # planted
            yield torch.multinomial(share, BATCH, replacement=True).tolist()  # planted


def same(batch):
    return batch


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    data = Clicks()
    weights = torch.where(data.clicked == 1, 30.0, 1.0)
    batches = iter(
        DataLoader(data, batch_sampler=Balanced(weights, clock.fixed), collate_fn=same)
    )
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters())
    for step in clock.loop():
        with clock.mark(step):
            rows, clicked = next(batches)
            loss = F.cross_entropy(model(rows), clicked)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
