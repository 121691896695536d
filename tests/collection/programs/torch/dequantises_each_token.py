"""A language model with weights in eight bits answers token by token."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each linear layer turns all its eight-bit weights into floats again for each token of one row, on a machine whose memory holds the floats easily",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["dequantise", "Int8Linear", "aten::_to_copy", "aten::to", "aten::copy_", "aten::mul"],
    "part": "develop",
}

WIDTH, LAYERS = 640, 3


class Int8Linear(nn.Module):
    """Weights of eight bits with a scale for each row."""

    def __init__(self, inputs, outputs, keeps_floats):
        super().__init__()
        weight = torch.randn(outputs, inputs) * inputs**-0.5
        scale = weight.abs().amax(1, keepdim=True) / 127
        self.register_buffer("scale", scale)
        self.register_buffer("codes", (weight / scale).round().to(torch.int8))
        self.floats = self.dequantise() if keeps_floats else None

    def dequantise(self):
        return self.codes.to(torch.float32) * self.scale  # planted

    def forward(self, x):
        return F.linear(x, self.dequantise() if self.floats is None else self.floats)


class Block(nn.Module):
    def __init__(self, keeps):
        super().__init__()
        self.qkv, self.out = Int8Linear(WIDTH, 3 * WIDTH, keeps), Int8Linear(WIDTH, WIDTH, keeps)
        self.up, self.down = Int8Linear(WIDTH, 4 * WIDTH, keeps), Int8Linear(4 * WIDTH, WIDTH, keeps)
        self.cache = []

    def forward(self, x):
        q, k, v = self.qkv(F.rms_norm(x, (WIDTH,))).view(3, 10, 64)
        self.cache.append((k, v))
        keys, values = (torch.stack(rows, 1) for rows in zip(*self.cache[-128:]))
        mixed = F.scaled_dot_product_attention(q[:, None], keys, values)
        x = x + self.out(mixed.reshape(1, WIDTH))
        return x + self.down(F.gelu(self.up(F.rms_norm(x, (WIDTH,)))))


class Model(nn.Module):
    def __init__(self, keeps, words=2000):
        super().__init__()
        self.embed = nn.Embedding(words, WIDTH)
        self.blocks = nn.ModuleList(Block(keeps) for _ in range(LAYERS))
        self.head = Int8Linear(WIDTH, words, keeps)

    def forward(self, token):
        x = self.embed(token)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


@torch.inference_mode()
def main(clock):
    clock.plan(4, 6)
    torch.manual_seed(0)
    model = Model(keeps=clock.fixed).eval()
    token = torch.tensor([7])
    for step in clock.loop():
        with clock.mark(step, "token"):
            token = torch.multinomial(torch.softmax(model(token), -1), 1)[0]


if __name__ == "__main__":
    run(main)
