import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "nearest points through a tensor of all differences of all pairs",
    "cause": "a huge intermediate",
    "accept": [],
    "rules": [],
    "words": ["chamfer_distance"],
    "part": "develop",
}


def chamfer_distance(a, b):
    diff = a[:, :, None, :] - b[:, None, :, :]  # planted
    dist = diff.pow(2).sum(-1)  # planted
    return dist.min(2)[0].mean() + dist.min(1)[0].mean()


def chamfer_by_product(a, b):
    dist = a.square().sum(-1)[:, :, None] + b.square().sum(-1)[:, None, :] - 2 * torch.bmm(a, b.transpose(1, 2))
    return dist.min(2)[0].mean() + dist.min(1)[0].mean()


class PointAutoencoder(nn.Module):
    def __init__(self, points=512):
        super().__init__()
        self.points = points
        self.encoder = nn.Sequential(nn.Conv1d(3, 64, 1), nn.ReLU(), nn.Conv1d(64, 128, 1))
        self.decoder = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 3 * points))

    def forward(self, cloud):
        code = self.encoder(cloud.transpose(1, 2)).max(2)[0]
        return self.decoder(code).view(-1, self.points, 3)


def main(clock):
    clock.plan(2, 6)
    torch.manual_seed(0)
    model = PointAutoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    distance = chamfer_by_product if clock.fixed else chamfer_distance
    for step in clock.loop():
        with clock.mark(step):
            cloud = torch.rand(8, 512, 3)
            loss = distance(model(cloud), cloud)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
