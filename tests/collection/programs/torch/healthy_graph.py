import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


class SageConv(nn.Module):
    def __init__(self, fan_in, fan_out):
        super().__init__()
        self.own, self.others = nn.Linear(fan_in, fan_out), nn.Linear(fan_in, fan_out)

    def forward(self, x, edges, degree):
        source, target = edges
        mean = torch.zeros_like(x).index_add_(0, target, x[source]) / degree
        return self.own(x) + self.others(mean)


def main(clock):
    clock.plan(3, 8)
    torch.manual_seed(0)
    nodes = 8000
    edges = torch.randint(0, nodes, (2, 40_000))
    degree = torch.bincount(edges[1], minlength=nodes).clamp(min=1)[:, None].float()
    x, y = torch.randn(nodes, 64), torch.randint(0, 7, (nodes,))
    conv1, conv2 = SageConv(64, 64), SageConv(64, 7)
    optimizer = torch.optim.Adam([*conv1.parameters(), *conv2.parameters()], lr=0.01)
    for step in clock.loop():
        with clock.mark(step, "epoch"):
            optimizer.zero_grad()
            h = torch.relu(conv1(x, edges, degree))
            loss = nn.functional.cross_entropy(conv2(h, edges, degree), y)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
