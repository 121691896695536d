"""One base model serves many customers, each with a low-rank adapter of its own."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each row of the batch goes alone through the whole model, because its adapter differs, where only the two thin products need to",
    "cause": "a batch taken apart",
    "accept": ["largest-part", "small-batch", "eager-execution", "tiny-kernels", "launch-bound", "python-bound", "tiny-ops"],
    "rules": ["small-batch", "eager-execution", "tiny-kernels", "launch-bound", "python-bound", "tiny-ops"],
    "words": ["serve_one_by_one", "adapter_by_row"],
    "part": "develop",
}

CUSTOMERS, BATCH, WIDTH, RANK, LAYERS, WORDS = 40, 10, 448, 4, 2, 3000


class AdaptedLinear(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.base = nn.Linear(inputs, outputs)
        self.a = nn.Parameter(torch.randn(CUSTOMERS, inputs, RANK) * 0.02)
        self.b = nn.Parameter(torch.randn(CUSTOMERS, RANK, outputs) * 0.02)

    def forward(self, x, who):
        return self.base(x) + torch.bmm(torch.bmm(x, self.a[who]), self.b[who])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = AdaptedLinear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = AdaptedLinear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x, who):
        q, k, v = self.qkv(self.norm1(x), who).chunk(3, -1)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return x + self.down(F.gelu(self.up(self.norm2(x), who)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, 5)

    def forward(self, ids, who):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, who)
        return self.head(x[:, -1])


def serve_one_by_one(model, ids, who):
    return torch.cat([model(ids[row : row + 1], who[row : row + 1]) for row in range(len(ids))])  # planted


@torch.inference_mode()
def main(clock):
    clock.plan(3, 2)
    torch.manual_seed(0)
    model = Model().eval()
    for step in clock.loop():
        with clock.mark(step, "batch"):
            ids, who = torch.randint(0, WORDS, (BATCH, 6)), torch.randint(0, CUSTOMERS, (BATCH,))
            scores = model(ids, who) if clock.fixed else serve_one_by_one(model, ids, who)
            scores.argmax(-1).tolist()


if __name__ == "__main__":
    run(main)
