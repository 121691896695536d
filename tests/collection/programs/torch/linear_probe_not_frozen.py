import sys
from pathlib import Path

import torch
import torch.nn as nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a linear probe: the optimizer gets the head alone, and the backbone still asks for gradients",
    "cause": "gradients that nobody uses",
    "accept": ["unused-gradients"],
    "rules": ["unused-gradients"],
    "words": ["Probe", "ViT", "Block.forward", "AddmmBackward0"],
    "part": "develop",
}


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, dim=128, depth=4, heads=4, patch=8, size=64):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, 1 + (size // patch) ** 2, dim) * 0.02)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        for block in self.blocks:
            x = block(x)
        return self.norm(x)[:, 0]


class Probe(nn.Module):
    def __init__(self, backbone, classes=10):
        super().__init__()
        self.backbone, self.head = backbone, nn.Linear(128, classes)

    def forward(self, x):
        features = self.backbone(x)  # planted
        return self.head(features)


def main(clock):
    clock.plan(2, 5)
    torch.manual_seed(0)
    model = Probe(ViT())
    if clock.fixed:
        model.backbone.requires_grad_(False)
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    x, y = torch.rand(128, 3, 64, 64), torch.randint(10, (128,))
    for step in clock.loop():
        with clock.mark(step):
            at = step * 8 % 128
            loss = criterion(model(x[at : at + 8]), y[at : at + 8])
            model.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
