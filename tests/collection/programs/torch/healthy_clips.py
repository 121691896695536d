"""Gestures in short clips: convolutions over space, then over time."""
import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


@dataclass(frozen=True)
class Settings:
    clips: int = 256
    frames: int = 8
    side: int = 28
    batch: int = 6
    gestures: int = 9
    rate: float = 0.02


class Clips(Dataset):
    """Clips of bytes in memory, given batch by batch."""

    def __init__(self, settings):
        shape = (settings.clips, 1, settings.frames, settings.side, settings.side)
        self.clips = torch.randint(256, shape, dtype=torch.uint8)
        self.gestures = torch.randint(settings.gestures, (settings.clips,))

    def __len__(self):
        return len(self.clips)

    def __getitems__(self, rows):
        rows = torch.as_tensor(rows)
        return self.clips[rows].float().div_(255), self.gestures[rows]


class SpaceThenTime(nn.Sequential):
    def __init__(self, inputs, outputs, stride=1):
        super().__init__(
            nn.Conv3d(inputs, outputs, (1, 3, 3), (1, stride, stride), (0, 1, 1), bias=False),
            nn.BatchNorm3d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv3d(outputs, outputs, (3, 1, 1), padding=(1, 0, 0), bias=False),
            nn.BatchNorm3d(outputs),
            nn.ReLU(inplace=True),
        )


class GestureNet(nn.Module):
    def __init__(self, gestures):
        super().__init__()
        self.body = nn.Sequential(SpaceThenTime(1, 16), SpaceThenTime(16, 32, 2), SpaceThenTime(32, 48, 2))
        self.head = nn.Linear(48, gestures)

    def forward(self, clips):
        return self.head(self.body(clips).mean((2, 3, 4)))


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    settings = Settings()
    loader = DataLoader(Clips(settings), settings.batch, shuffle=True, collate_fn=lambda batch: batch)
    model = GestureNet(settings.gestures)
    optimizer = torch.optim.SGD(model.parameters(), settings.rate, momentum=0.9, nesterov=True)
    for step, (clips, gestures) in enumerate(loader):
        if clock.tick(step):
            break
        with clock.mark(step):
            loss = nn.functional.cross_entropy(model(clips), gestures)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
