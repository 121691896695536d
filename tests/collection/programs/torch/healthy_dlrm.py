"""Clicks on adverts in the manner of DLRM: bags of embeddings, dot products of pairs, two MLPs."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

TABLES, ROWS, DIM, NUMBERS, BATCH = 8, 5000, 32, 13, 512


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class DLRM(nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList([nn.EmbeddingBag(ROWS, DIM, mode="sum", sparse=True) for _ in range(TABLES)])
        self.bottom = mlp(NUMBERS, 256, DIM)
        pairs = torch.triu_indices(TABLES + 1, TABLES + 1, 1)
        self.register_buffer("pairs", pairs[0] * (TABLES + 1) + pairs[1])
        self.top = mlp(DIM + len(self.pairs), 256, 128, 1)

    def forward(self, numbers, ids):
        x = self.bottom(numbers)
        every = torch.stack([x, *[bag(one) for bag, one in zip(self.bags, ids.unbind(1))]], 1)
        products = torch.bmm(every, every.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([x, products.index_select(1, self.pairs)], 1)).squeeze(1)


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    model = DLRM()
    sparse = [p for name, p in model.named_parameters() if "bags" in name]
    dense = [p for name, p in model.named_parameters() if "bags" not in name]
    optimizers = [torch.optim.SGD(sparse, lr=0.1), torch.optim.SGD(dense, lr=0.01, momentum=0.9)]
    criterion = nn.BCEWithLogitsLoss()
    numbers, ids = torch.rand(8192, NUMBERS), torch.randint(ROWS, (8192, TABLES, 4))
    clicks = torch.randint(2, (8192,)).float()
    for step in clock.loop():
        with clock.mark(step):
            at = torch.randint(8192, (BATCH,))
            loss = criterion(model(numbers[at], ids[at]), clicks[at])
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()


if __name__ == "__main__":
    run(main)
