"""Irregular satellite time series: an encoder over long sequences of observations."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "nn.MultiheadAttention returns its attention maps by default, averaged over heads, and nobody uses them: the fused kernel is left out",
    "cause": "results computed and thrown away",
    "accept": ["largest-part", "dominant-op", "unfused-ops"],
    "rules": ["dominant-op", "unfused-ops"],
    "words": ["MultiheadAttention", "multi_head_attention_forward", "aten::baddbmm", "aten::bmm", "aten::softmax", "aten::_softmax", "need_weights"],
    "part": "develop",
}

BANDS, LENGTH, WIDTH, HEADS, BATCH = 10, 256, 64, 8, 4


class Block(nn.Module):
    def __init__(self, need_weights):
        super().__init__()
        self.need_weights = need_weights
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def attend(self, y):
        y, _ = self.attention(y, y, y, need_weights=self.need_weights)  # planted
        return y

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Crops(nn.Module):
    def __init__(self, depth=2, kinds=12, need_weights=True):
        super().__init__()
        self.bands = nn.Linear(BANDS, WIDTH)
        self.day = nn.Embedding(366, WIDTH)
        self.blocks = nn.ModuleList([Block(need_weights) for _ in range(depth)])
        self.head = nn.Linear(WIDTH, kinds)

    def forward(self, values, days):
        x = self.bands(values) + self.day(days)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = Crops(need_weights=not clock.fixed)
    optimizer = torch.optim.AdamW(model.parameters(), 5e-4, fused=True)
    values = torch.randn(6, BATCH, LENGTH, BANDS)
    days = torch.randint(366, (6, BATCH, LENGTH)).sort(-1).values
    kinds = torch.randint(12, (6, BATCH))
    for step in clock.loop():
        with clock.mark(step):
            loss = nn.functional.cross_entropy(model(values[step % 6], days[step % 6]), kinds[step % 6])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
