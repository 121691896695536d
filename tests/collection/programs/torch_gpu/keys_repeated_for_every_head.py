"""Writes text with grouped queries: four heads of keys and values serve 32 of queries."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the whole cache of keys and values is copied eight times over for every token, a copy for each query head",
    "cause": "needless copies on the device",
    "accept": ["largest-part", "dominant-op", "device-copies"],
    "rules": ["dominant-op", "device-copies"],
    "words": ["repeat_kv", "aten::repeat_interleave", "aten::expand", "aten::clone", "aten::copy_", "aten::reshape", "GroupedAttention"],
    "part": "develop",
    "repeats": 2,
    # In the recording cuDNN plans its attention for each new length; the timed runs have its plans.
    "unsteady": True,
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, ROOM, HEADS, GROUPS, HEAD, LAYERS, VOCAB = (32, 4096, 32, 4, 128, 4, 32000) if BIG else (2, 32, 4, 2, 16, 2, 100)
TOKENS = 2
WIDTH = HEADS * HEAD


def repeat_kv(x, times):
    batch, groups, length, size = x.shape
    x = x[:, :, None].expand(batch, groups, times, length, size)
    return x.reshape(batch, groups * times, length, size)  # planted


class GroupedAttention(nn.Module):
    def __init__(self, folded):
        super().__init__()
        self.folded = folded
        self.q, self.kv = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, 2 * GROUPS * HEAD, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.register_buffer("keys", torch.randn(BATCH, GROUPS, ROOM, HEAD))
        self.register_buffer("values", torch.randn(BATCH, GROUPS, ROOM, HEAD))

    def forward(self, x, at):
        k, v = self.kv(x).view(BATCH, 2, GROUPS, HEAD).unbind(1)
        self.keys[:, :, at], self.values[:, :, at] = k, v
        keys, values = self.keys[:, :, : at + 1], self.values[:, :, : at + 1]
        if self.folded:
            q = self.q(x).view(BATCH, GROUPS, HEADS // GROUPS, HEAD)
        else:
            q = self.q(x).view(BATCH, HEADS, 1, HEAD)
            keys = repeat_kv(keys, HEADS // GROUPS)
            values = repeat_kv(values, HEADS // GROUPS)
        return self.out(F.scaled_dot_product_attention(q, keys, values).reshape(BATCH, WIDTH))


class Layer(nn.Module):
    def __init__(self, folded):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.attention = GroupedAttention(folded)
        self.both, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x, at):
        x = x + self.attention(self.norm1(x), at)
        gate, up = self.both(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Writer(nn.Module):
    def __init__(self, folded):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.layers = nn.ModuleList([Layer(folded) for _ in range(LAYERS)])
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, ids, at):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, at)
        return self.head(x)


@torch.inference_mode()
def write(model, ids, at):
    for number in range(TOKENS):
        ids = model(ids, at + number).argmax(-1)
    return ids


def main(clock):
    clock.plan(2, 5)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        model = Writer(clock.fixed).to(torch.bfloat16).eval()
        ids = torch.randint(VOCAB, (BATCH,))
    for step in clock.loop():
        with clock.mark(step, "tokens"):
            ids = write(model, ids, ROOM - 1 - TOKENS * (clock.last - step))

if __name__ == "__main__":
    run(main)
