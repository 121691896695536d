"""Finds faces: a single-shot detector in the manner of the old repositories."""
import sys
from itertools import product
from math import sqrt
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the prior boxes of all cells are made by loops of Python in every forward, though the picture's size never changes",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part", "python-bound"],
    "rules": ["python-bound"],
    "words": ["PriorBox", "make_boxes"],
    "part": "score",
}

SIZE, MAPS = 160, (40, 20, 10)


class PriorBox:
    steps, sizes, ratios = (4, 8, 16), ((8, 12), (24, 36), (64, 96)), (1.0, 1.6)

    def make_boxes(self):
        mean = []
        for k, f in enumerate(MAPS):
            for i, j in product(range(f), repeat=2):
                cx, cy = (j + 0.5) * self.steps[k] / SIZE, (i + 0.5) * self.steps[k] / SIZE
                for s in self.sizes[k]:
                    for ratio in self.ratios:
                        mean += [cx, cy, s / SIZE / sqrt(ratio), s / SIZE * sqrt(ratio)]  # planted
        return torch.tensor(mean).view(-1, 4).clamp_(0, 1)  # planted


class FaceNet(nn.Module):
    def __init__(self, keep_priors):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 12, 5, 4, 2), nn.ReLU())
        self.downs = nn.ModuleList([nn.Identity(), nn.Conv2d(12, 24, 3, 2, 1), nn.Conv2d(24, 32, 3, 2, 1)])
        self.loc = nn.ModuleList([nn.Conv2d(c, 16, 3, padding=1) for c in (12, 24, 32)])
        self.conf = nn.ModuleList([nn.Conv2d(c, 8, 3, padding=1) for c in (12, 24, 32)])
        self.priorbox = PriorBox()
        self.priors = self.priorbox.make_boxes() if keep_priors else None

    def forward(self, x):
        x, loc, conf = self.stem(x), [], []
        for down, l, c in zip(self.downs, self.loc, self.conf):
            x = F.relu(down(x))
            loc.append(l(x).permute(0, 2, 3, 1).reshape(len(x), -1, 4))
            conf.append(c(x).permute(0, 2, 3, 1).reshape(len(x), -1, 2))
        priors = self.priorbox.make_boxes() if self.priors is None else self.priors
        return torch.cat(loc, 1), torch.cat(conf, 1), priors


class MultiBoxLoss(nn.Module):
    def forward(self, loc, conf, priors, faces):
        near = torch.cdist(priors[:, :2], faces[:, :2]).min(1)
        positive = near.values < 0.06
        offset = (faces[near.indices, :2] - priors[:, :2]) / priors[:, 2:]
        target = torch.cat([offset, torch.log(faces[near.indices, 2:] / priors[:, 2:])], 1)
        box = F.smooth_l1_loss(loc[:, positive], target[positive].expand(len(loc), -1, -1))
        return box + F.cross_entropy(conf.flatten(0, 1), positive.long().repeat(len(conf)))


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    net, criterion = FaceNet(keep_priors=clock.fixed), MultiBoxLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4)
    for step in clock.loop():
        with clock.mark(step):
            images, faces = torch.rand(4, 3, SIZE, SIZE), torch.rand(5, 4) * 0.5 + 0.2
            loss = criterion(*net(images), faces)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
