import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "Adam updates every row of a big embedding table although a batch touches few",
    "cause": "dense updates of a sparse thing",
    "accept": [],
    "rules": [],
    "words": ["embedding_dense_backward", "Adam", "optimizer_step", "MatrixFactorization"],
    "part": "develop",
}


class MatrixFactorization(nn.Module):
    def __init__(self, users, items, size, is_sparse):
        super().__init__()
        self.users = nn.Embedding(users, size, sparse=is_sparse)  # planted
        self.items = nn.Embedding(items, size, sparse=is_sparse)  # planted

    def forward(self, user, item):
        return (self.users(user) * self.items(item)).sum(1)


def optimizer_step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()  # planted
    optimizer.step()  # planted


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    model = MatrixFactorization(60_000, 30_000, 32, is_sparse=clock.fixed)
    kind = torch.optim.SparseAdam if clock.fixed else torch.optim.Adam
    optimizer = kind(list(model.parameters()), lr=1e-3)
    for step in clock.loop():
        with clock.mark(step):
            user = torch.randint(0, 60_000, (4096,))
            item = torch.randint(0, 30_000, (4096,))
            rating = torch.rand(4096) * 5
            loss = nn.functional.mse_loss(model(user, item), rating)
            optimizer_step(optimizer, loss)


if __name__ == "__main__":
    run(main)
