import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "tensors that lie in memory are fetched row by row by TensorDataset and stacked again by the collate function",
    "cause": "a batch put together sample by sample",
    "accept": ["largest-part", "input-bound", "loader-workers", "python-bound", "missing-prefetch"],
    "rules": ["input-bound", "loader-workers", "python-bound", "missing-prefetch"],
    "words": ["TensorDataset", "default_collate", "collate", "fetch.py", "_SingleProcessDataLoaderIter", "aten::stack"],
    "part": "develop",
}


@dataclass
class Config:
    rows: int = 60_000
    features: int = 54
    classes: int = 7
    width: int = 320
    batch_size: int = 1024
    lr: float = 1e-3
    epochs: int = 100


class CoverTypeNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(cfg.features, cfg.width),
            nn.BatchNorm1d(cfg.width),
            nn.ReLU(),
            nn.Linear(cfg.width, cfg.width),
            nn.BatchNorm1d(cfg.width),
            nn.ReLU(),
            nn.Linear(cfg.width, cfg.classes),
        )

    def forward(self, x):
        return self.net(x)


class FastTensorLoader:
    """Whole batches by one index each."""

    def __init__(self, *tensors, batch_size):
        self.tensors, self.batch_size = tensors, batch_size

    def __iter__(self):
        order = torch.randperm(len(self.tensors[0]))
        for rows in order.split(self.batch_size):
            if len(rows) == self.batch_size:
                yield tuple(t[rows] for t in self.tensors)


def make_loader(x, y, cfg, fast):
    if fast:
        return FastTensorLoader(x, y, batch_size=cfg.batch_size)
    data = TensorDataset(x, y)  # planted
    return DataLoader(data, batch_size=cfg.batch_size, shuffle=True, drop_last=True)  # planted


def main(clock):
    clock.plan(3, 3)
    torch.manual_seed(7)
    cfg = Config()
    x = torch.randn(cfg.rows, cfg.features)
    y = (x[:, :7] + 0.3 * torch.randn(cfg.rows, 7)).argmax(1)
    loader = make_loader(x, y, cfg, clock.fixed)
    model = CoverTypeNet(cfg)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1000, gamma=0.5)
    step, running_loss = 0, torch.zeros(())
    for epoch in range(cfg.epochs):
        model.train()
        for inputs, labels in loader:
            if clock.tick(step):
                return running_loss
            with clock.mark(step):
                optimizer.zero_grad()
                loss = criterion(model(inputs), labels)
                loss.backward()
                optimizer.step()
                scheduler.step()
                running_loss += loss.detach()
            step += 1


if __name__ == "__main__":
    run(main)
