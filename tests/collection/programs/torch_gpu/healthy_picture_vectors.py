"""Vectors of pictures for a search index, by a vision transformer in half precision."""
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
BATCH, SIDE, PATCH, WIDTH, LAYERS = (192, 224, 16, 768, 8) if BIG else (2, 32, 8, 32, 2)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, WIDTH // 32, 32)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.position = nn.Parameter(torch.randn((SIDE // PATCH) ** 2, WIDTH) * 0.02)
        self.layers, self.norm = nn.Sequential(*[Layer() for _ in range(LAYERS)]), nn.LayerNorm(WIDTH)

    def forward(self, x):
        x = self.patches(x).flatten(2).mT + self.position
        return F.normalize(self.norm(self.layers(x)).mean(1), dim=-1)


@torch.inference_mode()
def embed(model, pictures, index, at):
    x = pictures.to(DEVICE, non_blocking=True).to(torch.bfloat16).div_(255)
    index[at : at + len(x)].copy_(model(x), non_blocking=True)


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        model = Encoder().to(torch.bfloat16).eval()
    pictures = torch.randint(256, (2, BATCH, 3, SIDE, SIDE), dtype=torch.uint8)
    index = torch.empty((clock.last + 1) * BATCH, WIDTH, dtype=torch.bfloat16)
    if BIG:
        pictures, index = pictures.pin_memory(), index.pin_memory()
    for step in clock.loop():
        with clock.mark(step, "embed"):
            embed(model, pictures[step % 2], index, step * BATCH)

if __name__ == "__main__":
    run(main)
