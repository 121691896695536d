import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "next(iter(loader)) in each step begins a new pass, which shuffles the whole data set",
    "cause": "the data set is shuffled for each batch",
    "accept": ["python-bound", "input-bound", "loader-workers", "restarted-pipeline"],
    "rules": ["python-bound", "input-bound", "loader-workers", "dominant-op", "restarted-pipeline"],
    "words": ["get_batch", "randperm", "RandomSampler", "DataLoader", "iter(", "tolist"],
    "part": "develop",
}


def endless(loader):
    while True:
        yield from loader


def get_batch(loader):
    return next(iter(loader))  # planted


def main(clock):
    clock.plan(3, 8)
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(400_000, 16), torch.randn(400_000, 1))
    loader = DataLoader(data, batch_size=128, shuffle=True)
    batches = endless(loader)
    model = nn.Sequential(nn.Linear(16, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    for step in clock.loop():
        with clock.mark(step):
            x, y = next(batches) if clock.fixed else get_batch(loader)
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
