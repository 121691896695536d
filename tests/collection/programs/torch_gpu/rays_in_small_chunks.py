"""A radiance field: pictures from new cameras."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the points of a picture go through the network in 32 chunks of 4096, a setting from a card with little memory: the device waits for the host's launches",
    "cause": "too little work per launch",
    "accept": ["largest-part", "launch-bound", "tiny-kernels", "python-bound", "idle-device"],
    "rules": ["launch-bound", "tiny-kernels", "python-bound", "idle-device"],
    "words": ["in_chunks", "Field", "encode"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
RAYS, SAMPLES, WIDTH, DEPTH = (2048, 64, 256, 6) if BIG else (32, 8, 16, 2)
CHUNK = 4096 if BIG else 32


class Field(nn.Module):
    def __init__(self, octaves=8):
        super().__init__()
        self.register_buffer("rates", 2.0 ** torch.arange(octaves))
        size, layers = 3 + 6 * octaves, []
        for _ in range(DEPTH):
            layers += [nn.Linear(size, WIDTH), nn.ReLU()]
            size = WIDTH
        self.net, self.out = nn.Sequential(*layers), nn.Linear(WIDTH, 4)

    def encode(self, x):
        angles = (x[..., None] * self.rates).flatten(1)
        return torch.cat([x, angles.sin(), angles.cos()], 1)

    def forward(self, x):
        return self.out(self.net(self.encode(x)))


def in_chunks(field, points, chunk):
    return torch.cat([field(part) for part in points.split(chunk)])  # planted


@torch.inference_mode()
def render(field, origin, rays, depths, chunk):
    points = origin + rays[:, None] * depths[:, None]
    out = in_chunks(field, points.flatten(0, 1).to(torch.bfloat16), chunk).float().view(len(rays), SAMPLES, 4)
    step = depths.diff(append=depths[-1:] + 1)
    clear = torch.exp(-F.softplus(out[..., 3]) * step)
    reached = torch.cat([torch.ones_like(clear[:, :1]), clear[:, :-1]], 1).cumprod(1)
    return ((reached * (1 - clear))[..., None] * out[..., :3].sigmoid()).sum(1)


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        field = Field().to(torch.bfloat16).eval()
        origins = torch.randn(clock.last + 1, 3)
        rays = F.normalize(torch.randn(RAYS, 3), dim=1)
        depths = torch.linspace(2, 6, SAMPLES)
    rows = []
    for step in clock.loop():
        with clock.mark(step, "picture"):
            rows.append(render(field, origins[step], rays, depths, RAYS * SAMPLES if clock.fixed else CHUNK))

if __name__ == "__main__":
    run(main)
