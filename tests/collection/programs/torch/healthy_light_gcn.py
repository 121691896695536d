"""LightGCN on a normalised sparse graph of users and films, made once."""
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

USERS, FILMS, WIDTH = 4000, 3000, 96


def normalised_graph(users, films):
    nodes = USERS + FILMS
    rows = np.concatenate([users, films + USERS])
    columns = np.concatenate([films + USERS, users])
    degree = np.bincount(rows, minlength=nodes).astype("float32").clip(1)
    values = 1 / np.sqrt(degree[rows] * degree[columns])
    order = np.lexsort((columns, rows))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=nodes))])
    return torch.sparse_csr_tensor(
        torch.from_numpy(starts), torch.from_numpy(columns[order]), torch.from_numpy(values[order]), (nodes, nodes)
    )


class Propagate(torch.autograd.Function):
    """The graph is symmetric: backward is the same product."""

    @staticmethod
    def forward(ctx, graph, x):
        ctx.graph = graph
        return torch.sparse.mm(graph, x)

    @staticmethod
    def backward(ctx, grad):
        return None, torch.sparse.mm(ctx.graph, grad)


class LightGCN(nn.Module):
    def __init__(self, graph, layers=2):
        super().__init__()
        self.graph, self.layers = graph, layers
        self.table = nn.Parameter(torch.randn(USERS + FILMS, WIDTH) * 0.1)

    def forward(self):
        x = total = self.table
        for _ in range(self.layers):
            x = Propagate.apply(self.graph, x)
            total = total + x
        return total / (self.layers + 1)


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    users, films = rng.integers(0, USERS, 60_000), rng.integers(0, FILMS, 60_000)
    model = LightGCN(normalised_graph(users, films))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, fused=True)
    liked = torch.from_numpy(np.stack([users, films + USERS]))
    for step in clock.loop():
        with clock.mark(step):
            user, film = liked[:, torch.randint(liked.shape[1], (1024,))]
            other = USERS + torch.randint(FILMS, (1024,))
            x = model()
            loss = -F.logsigmoid((x[user] * (x[film] - x[other])).sum(-1)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
