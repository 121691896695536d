import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "activations of a small transformer are computed twice to save memory that is free",
    "cause": "recomputation",
    "accept": [],
    "rules": [],
    "words": ["checkpoint", "CheckpointFunction"],
    "part": "develop",
}


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.mlp = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        w = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, -1)
        x = x + self.out(w @ v)
        return x + self.mlp(self.norm2(x))


class Encoder(nn.Module):
    def __init__(self, size=128, depth=4, use_checkpoint=True):
        super().__init__()
        self.blocks = nn.ModuleList(Block(size) for _ in range(depth))
        self.use_checkpoint = use_checkpoint

    def run_block(self, block, x):
        if self.use_checkpoint:
            return checkpoint(block, x)  # planted
        return block(x)

    def forward(self, x):
        for block in self.blocks:
            x = self.run_block(block, x)
        return x


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = Encoder(use_checkpoint=not clock.fixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x = torch.randn(16, 64, 128).requires_grad_()
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            loss = (model(x) - x).square().mean()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
