"""A driver cloned from camera pictures (PilotNet)."""
import sys
from pathlib import Path

import torch
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


class PilotNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 24, 5, 2),
            nn.ELU(inplace=True),
            nn.Conv2d(24, 36, 5, 2),
            nn.ELU(inplace=True),
            nn.Conv2d(36, 48, 5, 2),
            nn.ELU(inplace=True),
            nn.Conv2d(48, 64, 3),
            nn.ELU(inplace=True),
            nn.Conv2d(64, 64, 3),
            nn.ELU(inplace=True),
        )
        self.steer = nn.Sequential(nn.Flatten(), nn.Linear(64 * 18, 100), nn.ELU(), nn.Linear(100, 10), nn.ELU(), nn.Linear(10, 1))

    def forward(self, image):
        return self.steer(self.features(image))[:, 0]


def train(model, optimizer, images, angles):
    loss = nn.functional.huber_loss(model(images), angles)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    model = PilotNet().to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    images = torch.rand(60, 3, 66, 200).contiguous(memory_format=torch.channels_last).split(12)
    angles = torch.randn(60).split(12)
    for step in clock.loop():
        with clock.mark(step):
            train(model, optimizer, images[step % 5], angles[step % 5])


if __name__ == "__main__":
    run(main)
