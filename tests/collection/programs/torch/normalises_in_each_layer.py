"""Papers by their citations: a deep graph convolution (GCNII) on one graph."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each of four layers adds self-loops to the same edges, sorts out doubles and normalises them by degree again: nothing is cached",
    "cause": "the same computed again in each layer",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["normalise", "coalesce", "aten::coalesce", "_coalesce"],
    "part": "develop",
}

PAPERS, CITATIONS, WORDS, WIDTH, TOPICS, DEPTH = 1500, 6000, 100, 24, 7, 4


def normalise(edges, count):
    """The symmetrically normalised adjacency with self-loops."""
    loops = torch.arange(count).expand(2, -1)
    edges = torch.cat([edges, edges.flip(0), loops], 1)
    ones = torch.sparse_coo_tensor(edges, torch.ones(edges.shape[1]), (count, count))
    adjacency = ones.coalesce()  # planted
    rows, columns = adjacency.indices()
    scale = torch.zeros(count).index_add_(0, rows, adjacency.values()).rsqrt()
    values = scale[rows] * adjacency.values() * scale[columns]
    return torch.sparse_coo_tensor(adjacency.indices(), values, (count, count)).coalesce()  # planted


class Layer(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.linear, self.beta = nn.Linear(WIDTH, WIDTH, bias=False), 0.5 / depth

    def forward(self, h, first, edges, adjacency):
        if adjacency is None:
            adjacency = normalise(edges, len(h))
        h = 0.9 * torch.sparse.mm(adjacency, h) + 0.1 * first
        return torch.relu((1 - self.beta) * h + self.beta * self.linear(h))


class GCNII(nn.Module):
    def __init__(self, cached):
        super().__init__()
        self.cached, self.adjacency = cached, None
        self.embed, self.head = nn.Linear(WORDS, WIDTH), nn.Linear(WIDTH, TOPICS)
        self.layers = nn.ModuleList([Layer(i + 1) for i in range(DEPTH)])

    def forward(self, x, edges):
        if self.cached and self.adjacency is None:
            self.adjacency = normalise(edges, len(x))
        first = h = torch.relu(self.embed(x))
        for layer in self.layers:
            h = layer(h, first, edges, self.adjacency)
        return self.head(h)


def main(clock):
    clock.plan(3, 3)
    torch.manual_seed(0)
    model = GCNII(cached=clock.fixed)
    optimizer = torch.optim.Adam(model.parameters(), 0.01, weight_decay=5e-4)
    x = (torch.rand(PAPERS, WORDS) < 0.05).float()
    edges, topics = torch.randint(PAPERS, (2, CITATIONS)), torch.randint(TOPICS, (PAPERS,))
    known = torch.arange(140)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x, edges)[known], topics[known])
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
