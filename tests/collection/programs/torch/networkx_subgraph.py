import random
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the neighbourhood of every seed is cut out of the graph by networkx in each step",
    "cause": "graph library in Python within the loop",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["ego_graph", "networkx", "neighbourhood", "to_numpy_array", "batch_of_graphs"],
    "part": "develop",
}

NODES = 24


def neighbourhood(graph, seed):
    part = nx.ego_graph(graph, seed, radius=2)  # planted
    nodes = list(part)[:NODES]
    adjacency = np.zeros((NODES, NODES), np.float32)
    adjacency[: len(nodes), : len(nodes)] = nx.to_numpy_array(part.subgraph(nodes))  # planted
    index = np.zeros(NODES, np.int64)
    index[: len(nodes)] = nodes
    return index, adjacency


def batch_of_graphs(graph, seeds):
    index, adjacency = zip(*(neighbourhood(graph, seed) for seed in seeds))
    return torch.from_numpy(np.stack(index)), torch.from_numpy(np.stack(adjacency))


class GCN(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.one, self.two = nn.Linear(width, 512), nn.Linear(512, 512)
        self.out = nn.Linear(512, 7)

    def forward(self, x, adjacency):
        norm = adjacency / adjacency.sum(-1, keepdim=True).clamp(min=1)
        x = torch.relu(norm @ self.one(x) + self.one(x))
        x = torch.relu(norm @ self.two(x) + self.two(x))
        return self.out(x.mean(1))


def main(clock):
    clock.plan(2, 6)
    random.seed(0)
    graph = nx.barabasi_albert_graph(2000, 3, seed=0)
    features, labels = torch.randn(2000, 64), torch.randint(0, 7, (2000,))
    model = GCN()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    known = [[random.randrange(2000) for _ in range(16)] for _ in range(20)]
    ready = [batch_of_graphs(graph, seeds) for seeds in known] if clock.fixed else None
    for step in clock.loop():
        with clock.mark(step):
            seeds = known[step % 20]
            index, adjacency = ready[step % 20] if clock.fixed else batch_of_graphs(graph, seeds)
            loss = nn.functional.cross_entropy(model(features[index], adjacency), labels[seeds])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
