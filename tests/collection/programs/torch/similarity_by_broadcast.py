import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "all pairs' similarities by multiplying out a tensor of pairs and features, and a sum",
    "cause": "a huge intermediate",
    "accept": [],
    "rules": [],
    "words": ["contrastive_loss", "similarities"],
    "part": "develop",
}


def similarities(z, is_fixed):
    if is_fixed:
        return z @ z.T
    return (z.unsqueeze(1) * z.unsqueeze(0)).sum(-1)  # planted


def contrastive_loss(one, two, is_fixed):
    score = similarities(torch.cat([one, two]), is_fixed) / 0.2
    score = score.masked_fill(torch.eye(len(score), dtype=torch.bool), float("-inf"))
    half = len(one)
    target = torch.cat([torch.arange(half) + half, torch.arange(half)])
    return F.cross_entropy(score, target)


class Encoder(nn.Module):
    def __init__(self, features=64, width=256, dim=96):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(features, width), nn.ReLU(), nn.Linear(width, dim)
        )

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def augment(rows):
    return rows * (torch.rand_like(rows) > 0.2) + 0.1 * torch.randn_like(rows)


def main(clock):
    clock.plan(2, 5)
    torch.manual_seed(0)
    encoder = Encoder()
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
    data = torch.randn(4096, 64)
    for step in clock.loop():
        with clock.mark(step):
            rows = data[torch.randint(0, len(data), (192,))]
            loss = contrastive_loss(encoder(augment(rows)), encoder(augment(rows)), clock.fixed)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
