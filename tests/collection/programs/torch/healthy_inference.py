import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def main(clock):
    clock.plan(3, 8)
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1)
    ).eval()
    x = torch.randn(32, 3, 48, 48)
    with torch.inference_mode():
        for step in clock.loop():
            with clock.mark(step):
                model(x)


if __name__ == "__main__":
    run(main)
