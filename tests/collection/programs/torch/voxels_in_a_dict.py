"""Cars in LiDAR sweeps: pillars and a small backbone (PointPillars)."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "points are sorted into pillars one by one through a dict in Python",
    "cause": "Python loop",
    "accept": ["largest-part", "python-bound", "input-bound"],
    "rules": ["python-bound", "input-bound"],
    "words": ["voxelise", "tolist", "setdefault"],
    "part": "develop",
}

RANGE, CELL, PER_PILLAR = 40.0, 1.0, 16
SIDE = int(2 * RANGE / CELL)


def voxelise(points):
    pillars = {}
    for x, y, z, r in points.tolist():
        key = (int((x + RANGE) / CELL), int((y + RANGE) / CELL))  # planted
        inside = pillars.setdefault(key, [])  # planted
        if len(inside) < PER_PILLAR:
            inside.append((x, y, z, r))
    empty = (0.0, 0.0, 0.0, 0.0)
    padded = torch.tensor([inside + [empty] * (PER_PILLAR - len(inside)) for inside in pillars.values()])  # planted
    return padded, torch.tensor(list(pillars))


def voxelise_sorted(points):
    cells = ((points[:, :2] + RANGE) / CELL).long()
    order = (cells[:, 0] * SIDE + cells[:, 1]).argsort(stable=True)
    points, cells = points[order], cells[order]
    unique, which, counts = torch.unique_consecutive(cells, dim=0, return_inverse=True, return_counts=True)
    first = counts.cumsum(0) - counts
    place = torch.arange(len(points)) - first[which]
    kept = place < PER_PILLAR
    padded = torch.zeros(len(unique), PER_PILLAR, 4)
    padded[which[kept], place[kept]] = points[kept]
    return padded, unique


class PointPillars(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.point = nn.Linear(4, width)
        self.body = nn.Sequential(nn.Conv2d(width, 64, 3, 2, 1), nn.ReLU(), nn.Conv2d(64, 64, 3, 1, 1), nn.ReLU())
        self.head = nn.Conv2d(64, 8, 1)

    def forward(self, pillars, cells):
        features = F.relu(self.point(pillars)).amax(1)
        canvas = features.new_zeros(SIDE * SIDE, features.shape[-1])
        canvas = canvas.index_copy(0, cells[:, 0] * SIDE + cells[:, 1], features)
        return self.head(self.body(canvas.T.reshape(1, -1, SIDE, SIDE)))


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    model = PointPillars()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    sweeps = (torch.randn(12, 4000, 4) * 12).clamp(-39.9, 39.9)
    targets = torch.rand(12, 1, 8, SIDE // 2, SIDE // 2)
    group = voxelise_sorted if clock.fixed else voxelise
    for step in clock.loop():
        with clock.mark(step):
            loss = F.mse_loss(model(*group(sweeps[step])), targets[step])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
