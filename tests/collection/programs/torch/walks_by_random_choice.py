"""node2vec on a graph of proteins: walks that prefer strong bonds, and skip-gram over them."""
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each step of each walk asks np.random.choice with p, which checks and sums the probabilities again; all walks could go on together by sums made once",
    "cause": "small calls in Python",
    "accept": ["largest-part", "python-bound", "input-bound"],
    "rules": ["python-bound", "input-bound"],
    "words": ["walk_from", "random.choice", "choice", "ProteinGraph"],
    "part": "score",
}

NODES, DEGREE, DIM, LENGTH, STARTS, WINDOW = 2500, 24, 64, 20, 64, 4


class ProteinGraph:
    def __init__(self, rng):
        self.neighbours = rng.integers(0, NODES, (NODES, DEGREE))
        bonds = rng.random((NODES, DEGREE))
        self.p = bonds / bonds.sum(1, keepdims=True)
        self.sums = self.p.cumsum(1)
        self.sums[:, -1] = 1.0
        self.rng = rng

    def walk_from(self, node):
        walk = [node]
        while len(walk) < LENGTH:
            at = np.random.choice(DEGREE, p=self.p[walk[-1]])  # planted
            walk.append(self.neighbours[walk[-1], at])
        return walk

    def walks(self, starts):
        return np.array([self.walk_from(node) for node in starts])

    def walks_together(self, starts):
        walks = [starts]
        while len(walks) < LENGTH:
            now = walks[-1]
            at = (self.rng.random((len(now), 1)) > self.sums[now]).sum(1)
            walks.append(self.neighbours[now, at])
        return np.stack(walks, 1)


def pairs(walks):
    """Centers and contexts within the window."""
    walks = torch.from_numpy(walks)
    centers, contexts = [], []
    for shift in range(1, WINDOW + 1):
        centers += [walks[:, shift:].flatten(), walks[:, :-shift].flatten()]
        contexts += [walks[:, :-shift].flatten(), walks[:, shift:].flatten()]
    return torch.cat(centers), torch.cat(contexts)


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    np.random.seed(0)
    graph = ProteinGraph(np.random.default_rng(0))
    center, context = nn.Embedding(NODES, DIM, sparse=True), nn.Embedding(NODES, DIM, sparse=True)
    optimizer = torch.optim.SGD([*center.parameters(), *context.parameters()], lr=0.5)
    walker = graph.walks_together if clock.fixed else graph.walks
    for step in clock.loop():
        with clock.mark(step):
            a, b = pairs(walker(graph.rng.integers(0, NODES, STARTS)))
            fake = torch.randint(NODES, (len(a), 5))
            near = (center(a) * context(b)).sum(-1)
            far = torch.einsum("nd,nkd->nk", center(a), context(fake))
            loss = nn.functional.softplus(-near).mean() + nn.functional.softplus(far).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
