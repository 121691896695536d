"""GraphSAGE by mini-batches of seed nodes."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "both layers run over all nodes of the graph for a batch of 48 seeds, whose neighbours' neighbours would be enough",
    "cause": "work done in vain",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["embed_all", "SAGELayer", "aten::index", "IndexBackward0"],
    "part": "develop",
}

NODES, NEIGHBOURS, FEATURES, HIDDEN, CLASSES = 5000, 6, 64, 96, 20


class SAGELayer(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.own, self.near = nn.Linear(a, b), nn.Linear(a, b, bias=False)

    def forward(self, own, near):
        return self.own(own) + self.near(near.mean(1))


class SAGE(nn.Module):
    def __init__(self, graph, local):
        super().__init__()
        self.graph, self.local = graph, local
        self.one, self.two = SAGELayer(FEATURES, HIDDEN), SAGELayer(HIDDEN, CLASSES)

    def embed_all(self, x):
        h = F.relu(self.one(x, x[self.graph]))  # planted
        return self.two(h, h[self.graph])  # planted

    def embed(self, x, seeds):
        near = self.graph[seeds]
        rows = torch.cat([seeds, near.flatten()])
        h = F.relu(self.one(x[rows], x[self.graph[rows]]))
        own, around = h.split([len(seeds), near.numel()])
        return self.two(own, around.unflatten(0, near.shape))

    def forward(self, x, seeds):
        return self.embed(x, seeds) if self.local else self.embed_all(x)[seeds]  # planted


def main(clock):
    clock.plan(2, 5)
    torch.manual_seed(0)
    x, y = torch.randn(NODES, FEATURES), torch.randint(CLASSES, (NODES,))
    model = SAGE(torch.randint(NODES, (NODES, NEIGHBOURS)), local=clock.fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, fused=True)
    for step in clock.loop():
        with clock.mark(step):
            seeds = torch.randint(NODES, (48,))
            loss = F.cross_entropy(model(x, seeds), y[seeds])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
