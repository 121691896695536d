"""Photos enlarged threefold: convolutions at low resolution and a pixel shuffle at the end."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


class Upscaler(nn.Module):
    def __init__(self, scale=3, width=48, depth=4):
        super().__init__()
        body = [nn.Conv2d(3, width, 3, padding=1), nn.ReLU(inplace=True)]
        for _ in range(depth):
            body += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU(inplace=True)]
        self.body = nn.Sequential(*body)
        self.up = nn.Sequential(nn.Conv2d(width, 3 * scale**2, 3, padding=1), nn.PixelShuffle(scale))

    def forward(self, x):
        return self.up(self.body(x))


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    model = Upscaler()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4, fused=True)
    large = torch.rand(32, 3, 72, 72)
    small = nn.functional.avg_pool2d(large, 3)
    total = torch.zeros(())
    for step in clock.loop():
        with clock.mark(step):
            rows = torch.randint(len(large), (8,))
            loss = nn.functional.l1_loss(model(small[rows]), large[rows])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.detach()
    print(float(total))


if __name__ == "__main__":
    run(main)
