import itertools
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a factorisation machine gathers all pairs of fields twice where a square of sums would do",
    "cause": "a needlessly expensive formula",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": [
        "PairwiseInteraction",
        "aten::index",
        "IndexBackward0",
        "aten::_index_put_impl_",
        "aten::index_put_",
    ],
    "part": "develop",
}

# Criteo's 26 categorical columns, with their tails cut.
FIELD_DIMS = [1400, 550, 3000, 2500, 300, 24, 1100, 630, 3, 2900, 1000, 3100, 900] + [
    26, 1500, 3000, 10, 900, 300, 4, 3000, 17, 15, 1600, 100, 1200,
]  # fmt: skip


class FeaturesEmbedding(nn.Module):
    def __init__(self, field_dims, width):
        super().__init__()
        self.embedding = nn.Embedding(sum(field_dims), width, sparse=True)
        offsets = torch.tensor([0, *itertools.accumulate(field_dims)][:-1])
        self.register_buffer("offsets", offsets)
        nn.init.xavier_uniform_(self.embedding.weight)

    def forward(self, x):
        return self.embedding(x + self.offsets)


class PairwiseInteraction(nn.Module):
    def __init__(self, fields):
        super().__init__()
        pairs = list(itertools.combinations(range(fields), 2))
        self.left, self.right = [a for a, _ in pairs], [b for _, b in pairs]

    def forward(self, x):
        return self.products_of_pairs(x)

    def products_of_pairs(self, x):
        return (x[:, self.left] * x[:, self.right]).sum(dim=(1, 2))  # planted


class SquareOfSums(nn.Module):
    def forward(self, x):
        return 0.5 * (x.sum(1).pow(2) - x.pow(2).sum(1)).sum(1)


class DeepFM(nn.Module):
    def __init__(self, field_dims, interaction, width=16, hidden=(512, 256)):
        super().__init__()
        self.linear = FeaturesEmbedding(field_dims, 1)
        self.embedding = FeaturesEmbedding(field_dims, width)
        self.interaction = interaction
        layers, size = [], width * len(field_dims)
        for units in hidden:
            layers += [nn.Linear(size, units), nn.BatchNorm1d(units), nn.ReLU(), nn.Dropout(0.2)]
            size = units
        self.mlp = nn.Sequential(*layers, nn.Linear(size, 1))

    def forward(self, x):
        vectors = self.embedding(x)
        first = self.linear(x).sum(dim=(1, 2))
        return first + self.interaction(vectors) + self.mlp(vectors.flatten(1)).squeeze(1)


class Optimizers:
    """Sparse gradients need an optimizer of their own."""

    def __init__(self, model, lr):
        sparse = [model.linear.embedding.weight, model.embedding.embedding.weight]
        self.each = [
            torch.optim.SGD(sparse, lr=lr),
            torch.optim.Adam(model.mlp.parameters(), lr=lr),
        ]

    def zero_grad(self):
        for one in self.each:
            one.zero_grad()

    def step(self):
        for one in self.each:
            one.step()


def train(model, clicks, labels, batch_size, clock):
    optimizers = Optimizers(model, 1e-3)
    model.train()
    for step in clock.loop():
        with clock.mark(step):
            at = step * batch_size % len(clicks)
            logits = model(clicks[at : at + batch_size])
            loss = F.binary_cross_entropy_with_logits(logits, labels[at : at + batch_size])
            optimizers.zero_grad()
            loss.backward()
            optimizers.step()


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    interaction = SquareOfSums() if clock.fixed else PairwiseInteraction(len(FIELD_DIMS))
    clicks = torch.stack([torch.randint(0, n, (4096,)) for n in FIELD_DIMS], 1)
    train(DeepFM(FIELD_DIMS, interaction), clicks, (torch.rand(4096) < 0.2).float(), 512, clock)


if __name__ == "__main__":
    run(main)
