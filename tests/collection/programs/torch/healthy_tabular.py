import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


class Tabular(nn.Module):
    """Categories by embeddings, numbers as they are."""

    def __init__(self, sizes, numbers):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, 8) for size in sizes)
        self.norm = nn.BatchNorm1d(numbers)
        wide = 8 * len(sizes) + numbers
        self.layers = nn.Sequential(
            nn.Linear(wide, 512), nn.ReLU(), nn.BatchNorm1d(512), nn.Dropout(0.1), nn.Linear(512, 256), nn.ReLU(), nn.BatchNorm1d(256), nn.Linear(256, 1)
        )

    def forward(self, categories, numbers):
        parts = [table(categories[:, i]) for i, table in enumerate(self.tables)]
        return self.layers(torch.cat([*parts, self.norm(numbers)], 1))[:, 0]


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    sizes = [12, 31, 7, 400, 90, 5]
    rows = 50_000
    categories = torch.stack([torch.randint(0, size, (rows,)) for size in sizes], 1)
    numbers, labels = torch.randn(rows, 20), torch.rand(rows).round()
    model = Tabular(sizes, 20)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    order = torch.randperm(rows).split(1024)
    for step in clock.loop():
        with clock.mark(step):
            index = order[step % len(order)]
            logits = model(categories[index], numbers[index])
            loss = nn.functional.binary_cross_entropy_with_logits(logits, labels[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
