import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": None,
    "cause": "healthy",
    "accept": [],
    "rules": [],
    "words": [],
    "part": "develop",
}


class SharedMLP(nn.Sequential):
    """The same layers for each point."""

    def __init__(self, *sizes):
        layers = []
        for inside, outside in zip(sizes, sizes[1:]):
            layers += [nn.Linear(inside, outside), nn.LayerNorm(outside), nn.ReLU()]
        super().__init__(*layers)


class PointNet(nn.Module):
    def __init__(self, classes=40):
        super().__init__()
        self.points = SharedMLP(3, 64, 128, 512)
        self.head = nn.Sequential(
            nn.Linear(512, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, classes)
        )

    def forward(self, clouds):
        return self.head(self.points(clouds).amax(1))


def augment(clouds):
    """Turn each cloud about the vertical, and shake it."""
    angle = torch.rand(len(clouds)) * 6.2832
    cos, sin, zero, one = angle.cos(), angle.sin(), torch.zeros_like(angle), torch.ones_like(angle)
    turn = torch.stack([cos, zero, sin, zero, one, zero, -sin, zero, cos], 1).view(-1, 3, 3)
    return torch.baddbmm(0.01 * torch.randn_like(clouds), clouds, turn)


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    clouds, labels = torch.randn(256, 256, 3), torch.randint(0, 40, (256,))
    clouds = clouds / clouds.norm(dim=-1, keepdim=True)
    model = PointNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 500, 0.7)
    for step in clock.loop():
        with clock.mark(step):
            at = step * 16 % len(clouds)
            logits = model(augment(clouds[at : at + 16]))
            loss = F.cross_entropy(logits, labels[at : at + 16], label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()


if __name__ == "__main__":
    run(main)
