"""A small language model with its own norm, rotary positions and attention."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": None,
    "cause": "nothing",
    "accept": [],
    "rules": [],
    "words": [],
    "part": "develop",
}

WORDS, WIDTH, HEADS, LENGTH = 500, 128, 4, 48


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain


def turned(x, cos, sin):
    one, two = x.chunk(2, -1)
    return torch.cat([one * cos - two * sin, two * cos + one * sin], -1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = RMSNorm(), RMSNorm()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(WIDTH, 2 * WIDTH, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def heads(self, x):
        return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    def forward(self, x, cos, sin, mask):
        h = self.before(x)
        q, k = turned(self.heads(self.q(h)), cos, sin), turned(self.heads(self.k(h)), cos, sin)
        score = (q @ k.transpose(-1, -2) / 32**0.5 + mask).softmax(-1)
        x = x + self.o((score @ self.heads(self.v(h))).transpose(1, 2).flatten(2))
        h = self.between(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    def __init__(self, layers=5):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm, self.head = RMSNorm(), nn.Linear(WIDTH, WORDS, bias=False)
        angle = torch.outer(torch.arange(LENGTH), 1e4 ** (-torch.arange(16) / 16))
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())
        self.register_buffer("mask", torch.full((LENGTH, LENGTH), float("-inf")).triu(1))

    def forward(self, ids):
        x = self.words(ids)
        for block in self.blocks:
            x = block(x, self.cos, self.sin, self.mask)
        return self.head(self.norm(x))


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = Decoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    for step in clock.loop():
        with clock.mark(step):
            ids = torch.randint(0, WORDS, (8, LENGTH + 1))
            loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
