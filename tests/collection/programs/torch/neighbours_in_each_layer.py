"""Parts of chairs: a PointNet++-like net with k nearest neighbours."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each of four layers looks for the nearest neighbours of the same coordinates again",
    "cause": "the same computed again in each layer",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["nearest", "aten::topk", "aten::cdist", "aten::_cdist_forward", "aten::_euclidean_dist"],
    "part": "develop",
}


def nearest(xyz, k):
    return torch.cdist(xyz, xyz).topk(k, largest=False).indices  # planted


def gather(features, neighbours):
    b, n, k = neighbours.shape
    rows = neighbours.flatten(1).unsqueeze(-1).expand(-1, -1, features.shape[-1])
    return features.gather(1, rows).view(b, n, k, -1)


class LocalAggregation(nn.Module):
    def __init__(self, fan_in, fan_out, k):
        super().__init__()
        self.k = k
        self.own, self.others = nn.Linear(fan_in, fan_out), nn.Linear(fan_in, fan_out)
        self.place = nn.Linear(3, fan_out)

    def forward(self, xyz, x, neighbours=None):
        if neighbours is None:
            neighbours = nearest(xyz, self.k)
        offsets = self.place(gather(xyz, neighbours) - xyz.unsqueeze(2))
        around = gather(self.others(x), neighbours) + offsets
        return torch.relu(self.own(x) + around.amax(2))


class PartSegmentation(nn.Module):
    def __init__(self, parts=6, width=24, depth=4, k=8, search_once=False):
        super().__init__()
        self.k, self.search_once = k, search_once
        self.stem = nn.Linear(3, width)
        self.layers = nn.ModuleList([LocalAggregation(width, width, k) for _ in range(depth)])
        self.head = nn.Linear(width, parts)

    def forward(self, xyz):
        x = self.stem(xyz)
        neighbours = nearest(xyz, self.k) if self.search_once else None
        for layer in self.layers:
            x = x + layer(xyz, x, neighbours)
        return self.head(x)


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = PartSegmentation(search_once=clock.fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    clouds = torch.rand(8, 2, 768, 3)
    parts = torch.randint(6, (8, 2, 768))
    for step in clock.loop():
        with clock.mark(step):
            logits = model(clouds[step % 8])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), parts[step % 8].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
