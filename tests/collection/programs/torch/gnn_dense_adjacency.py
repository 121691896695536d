import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "messages of a sparse graph pass through a dense adjacency matrix",
    "cause": "one op dominates",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["GraphConv"],
    "family": "mm",
    "part": "develop",
}


class GraphConv(nn.Module):
    def __init__(self, fan_in, fan_out):
        super().__init__()
        self.lin = nn.Linear(fan_in, fan_out)

    def propagate_dense(self, x, adj):
        return adj @ x  # planted

    def propagate_edges(self, x, edges):
        source, target = edges
        return torch.zeros_like(x).index_add_(0, target, x[source])

    def forward(self, x, graph):
        x = self.lin(x)
        return self.propagate_edges(x, graph) if graph.dtype == torch.int64 else self.propagate_dense(x, graph)


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GraphConv(64, 32)
        self.conv2 = GraphConv(32, 7)

    def forward(self, x, graph):
        return self.conv2(torch.relu(self.conv1(x, graph)), graph)


def main(clock):
    clock.plan(3, 8)
    torch.manual_seed(0)
    nodes = 2700
    edges = torch.randint(0, nodes, (2, 10_000))
    adj = torch.zeros(nodes, nodes)
    adj[edges[1], edges[0]] = 1.0
    graph = edges if clock.fixed else adj
    x, y = torch.randn(nodes, 64), torch.randint(0, 7, (nodes,))
    model = GCN()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for step in clock.loop():
        with clock.mark(step, "epoch"):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x, graph), y)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
