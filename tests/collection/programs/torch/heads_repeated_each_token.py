"""Decoding with grouped queries: sixteen heads share two heads of keys and values."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "keys and values of two shared heads are repeated for all sixteen heads of queries, which copies the whole cache eightfold for each token and layer",
    "cause": "copies of what could be read where it lies",
    "accept": ["largest-part", "dominant-op", "host-copies"],
    "rules": ["dominant-op", "host-copies"],
    "words": ["repeat_kv", "repeat_interleave", "aten::repeat_interleave", "aten::index_select", "aten::clone"],
    "part": "develop",
}

WIDTH, HEADS, SHARED, LAYERS, ROOM = 256, 16, 2, 4, 1024
SIZE = WIDTH // HEADS


def repeat_kv(x, times):
    return x.repeat_interleave(times, dim=1)  # planted


class GroupedAttention(nn.Module):
    def __init__(self, batch, grouped):
        super().__init__()
        self.grouped = grouped
        self.q, self.kv = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, 2 * SHARED * SIZE, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.register_buffer("keys", torch.randn(batch, SHARED, ROOM, SIZE), persistent=False)
        self.register_buffer("values", torch.randn(batch, SHARED, ROOM, SIZE), persistent=False)

    def forward(self, x, at):
        q = self.q(x).view(len(x), HEADS, 1, SIZE)
        k, v = self.kv(x).view(len(x), 2, SHARED, SIZE).unbind(1)
        self.keys[:, :, at], self.values[:, :, at] = k, v
        keys, values = self.keys[:, :, : at + 1], self.values[:, :, : at + 1]
        if self.grouped:
            # A shared head's queries are rows of one product.
            q = q.view(len(x), SHARED, HEADS // SHARED, SIZE)
        else:
            keys, values = repeat_kv(keys, HEADS // SHARED), repeat_kv(values, HEADS // SHARED)
        weights = torch.softmax(q @ keys.transpose(-1, -2) * SIZE**-0.5, -1)
        return self.out((weights @ values).reshape(len(x), WIDTH))


class Block(nn.Module):
    def __init__(self, batch, grouped):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.attention = GroupedAttention(batch, grouped)
        self.up, self.gate, self.down = nn.Linear(WIDTH, 1024), nn.Linear(WIDTH, 1024), nn.Linear(1024, WIDTH)

    def forward(self, x, at):
        x = x + self.attention(self.norm1(x), at)
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    def __init__(self, batch, grouped, words=16000):
        super().__init__()
        self.embed = nn.Embedding(words, WIDTH)
        self.blocks = nn.ModuleList(Block(batch, grouped) for _ in range(LAYERS))
        self.norm, self.head = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, words, bias=False)

    def forward(self, tokens, at):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, at)
        return self.head(self.norm(x))


@torch.inference_mode()
def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    decoder = Decoder(batch=8, grouped=clock.fixed).eval()
    tokens, prompt = torch.randint(0, 4000, (8,)), 700
    for step in clock.loop():
        with clock.mark(step, "token"):
            tokens = decoder(tokens, prompt + step).argmax(-1)


if __name__ == "__main__":
    run(main)
