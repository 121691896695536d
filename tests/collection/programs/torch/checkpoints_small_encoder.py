import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every block of a small encoder is checkpointed, as a large one's were",
    "cause": "recomputation for memory that is not short",
    "accept": ["recomputed-activations"],
    "rules": ["recomputed-activations"],
    "words": ["checkpoint"],
    "part": "develop",
}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            one.reshape(batch, length, self.heads, -1).transpose(1, 2)
            for one in self.mix(self.before(x)).chunk(3, dim=-1)
        )
        weights = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, dim=-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.wide(self.between(x))


class Encoder(nn.Module):
    def __init__(self, saves_memory):
        super().__init__()
        self.saves_memory = saves_memory
        self.table = nn.Embedding(500, 96)
        self.blocks = nn.ModuleList(Block(96, 4) for _ in range(3))
        self.head = nn.Linear(96, 9)

    def forward(self, words):
        x = self.table(words)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.saves_memory else block(x)
        return self.head(x.mean(1))


def main(clock):
    clock.plan(4, 5)
    torch.manual_seed(0)
    model = Encoder(saves_memory=not clock.fixed)  # planted
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    words, topics = torch.randint(0, 500, (24, 40)), torch.randint(0, 9, (24,))
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(words), topics)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
