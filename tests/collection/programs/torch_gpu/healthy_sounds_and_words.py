"""Sounds and their captions in one space, with Lightning Fabric and two half batches a step."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, MELS, FRAMES, LENGTH, WIDTH, LAYERS, VOCAB = (256, 64, 512, 64, 512, 2, 8192) if BIG else (4, 8, 32, 8, 32, 1, 100)


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


class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.sound = nn.Sequential(nn.Linear(4 * MELS, WIDTH), *[Layer() for _ in range(LAYERS)], nn.LayerNorm(WIDTH))
        self.words = nn.Sequential(nn.Embedding(VOCAB, WIDTH), *[Layer() for _ in range(LAYERS)], nn.LayerNorm(WIDTH))
        self.scale = nn.Parameter(torch.tensor(2.7))

    def forward(self, mels, ids):
        sound = F.normalize(self.sound(mels.unflatten(1, (-1, 4)).flatten(2)).mean(1), dim=-1)
        words = F.normalize(self.words(ids).mean(1), dim=-1)
        return self.scale.exp() * sound @ words.T


def main(clock):
    clock.plan(3, 3)
    fabric = Fabric(accelerator=DEVICE, devices=1, precision="bf16-mixed")
    fabric.seed_everything(0, verbose=False)
    with fabric.init_module():
        model = Pairs()
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=2e-4, fused=True))
    mels = torch.randn(4, BATCH, FRAMES, MELS, device=DEVICE)
    ids = torch.randint(VOCAB, (4, BATCH, LENGTH), device=DEVICE)
    truth = torch.arange(BATCH, device=DEVICE)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            for half in range(2):
                at = (2 * step + half) % 4
                scores = model(mels[at], ids[at]).float()
                fabric.backward((F.cross_entropy(scores, truth) + F.cross_entropy(scores.T, truth)) / 4)
            optimizer.step()

if __name__ == "__main__":
    run(main)
