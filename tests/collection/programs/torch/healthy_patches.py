"""Forecasts by patches (PatchTST): each channel of a series on its own."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

PAST, FUTURE, CHANNELS, PATCH, STRIDE, WIDTH, BATCH = 336, 96, 7, 16, 8, 96, 8
PATCHES = (PAST - PATCH) // STRIDE + 1


class Block(nn.Module):
    def __init__(self, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, WIDTH))
        return x + self.mlp(self.norm2(x))


class PatchTST(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.embed = nn.Linear(PATCH, WIDTH)
        self.place = nn.Parameter(torch.randn(PATCHES, WIDTH) * 0.02)
        self.blocks = nn.Sequential(*[Block() for _ in range(depth)])
        self.head = nn.Linear(PATCHES * WIDTH, FUTURE)

    def forward(self, x):
        mean, scale = x.mean(-1, keepdim=True), x.std(-1, keepdim=True) + 1e-5
        patches = ((x - mean) / scale).unfold(-1, PATCH, STRIDE).flatten(0, 1)
        y = self.head(self.blocks(self.embed(patches) + self.place).flatten(1))
        return y.view(*x.shape[:-1], FUTURE) * scale + mean


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = PatchTST()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    series = torch.randn(CHANNELS, 3000).cumsum(-1)
    for step in clock.loop():
        with clock.mark(step):
            starts = torch.randint(3000 - PAST - FUTURE, (BATCH,)).tolist()
            window = torch.stack([series[:, s : s + PAST + FUTURE] for s in starts])
            loss = nn.functional.mse_loss(model(window[..., :PAST]), window[..., PAST:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
