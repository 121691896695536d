"""Leaves by species, from a loader of pinned batches."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, SIZE, WIDTHS = (160, 128, (64, 128, 256, 512)) if BIG else (4, 32, (8, 8, 8, 8))


class Unit(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b)
        self.conv2, self.norm2 = nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b)
        self.skip = nn.Identity() if stride == 1 and a == b else nn.Conv2d(a, b, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        return F.relu(self.norm2(self.conv2(y)) + self.skip(x), inplace=True)


def leaf_net(species):
    layers, last = [nn.Conv2d(3, WIDTHS[0], 3, 1, 1, bias=False)], WIDTHS[0]
    for width in WIDTHS:
        layers += [Unit(last, width, 2), Unit(width, width, 1)]
        last = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, species))


class Batches:
    """Whole batches of stored bytes, in pinned memory, shuffled by batch."""

    def __init__(self, count):
        self.leaves = torch.randint(256, (count, BATCH, SIZE, SIZE, 3), dtype=torch.uint8)
        self.species = torch.randint(184, (count, BATCH))
        if BIG:
            self.leaves, self.species = self.leaves.pin_memory(), self.species.pin_memory()

    def __call__(self, number):
        number %= len(self.leaves)
        x = self.leaves[number].to(DEVICE, non_blocking=True).permute(0, 3, 1, 2)
        return x.to(torch.bfloat16).sub_(118).div_(58), self.species[number].to(DEVICE, non_blocking=True)


def main(clock):
    clock.plan(4, 6)
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    batches = Batches(4)
    model = leaf_net(184).to(DEVICE, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=5e-5, nesterov=True, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
    for step in clock.loop():
        with clock.mark(step):
            x, y = batches(step)
            with torch.autocast(DEVICE, torch.bfloat16):
                loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()

if __name__ == "__main__":
    run(main)
