"""Serves a tagger of clinical notes; requests come in small batches."""
import queue
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "nobody calls eval(): the served model still draws dropout masks for everything, in each layer",
    "cause": "training's work while serving",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["aten::dropout", "bernoulli_", "native_dropout", "Dropout"],
    "part": "score",
}

TAGS, WORDS = 23, 4000


class Block(nn.Module):
    def __init__(self, dim, p):
        super().__init__()
        self.conv = nn.Conv1d(dim, dim, 3, padding=1, groups=4)
        self.mix = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.drops = nn.ModuleList([nn.Dropout(p) for _ in range(3)])

    def dropped(self, i, x):
        return self.drops[i](x)  # planted

    def forward(self, x):
        near = self.dropped(0, self.conv(x.transpose(1, 2)).transpose(1, 2))
        far = self.dropped(1, torch.relu(self.mix(x)))
        return self.dropped(2, self.norm(x + near + far))


class Tagger(nn.Module):
    def __init__(self, dim=96, depth=4, p=0.2):
        super().__init__()
        self.words = nn.Embedding(WORDS, dim)
        self.blocks = nn.Sequential(*[Block(dim, p) for _ in range(depth)])
        self.tags = nn.Linear(dim, TAGS)

    def forward(self, ids):
        return self.tags(self.blocks(self.words(ids)))


class Service:
    def __init__(self, model):
        self.model, self.requests = model, queue.Queue()

    def submit(self, ids):
        self.requests.put(ids)

    def take(self, most=8):
        notes = []
        while len(notes) < most and not self.requests.empty():
            notes.append(self.requests.get())
        return notes

    @torch.no_grad()
    def answer(self):
        notes = self.take()
        longest = max(len(note) for note in notes)
        batch = torch.zeros(len(notes), longest, dtype=torch.long)
        for row, note in zip(batch, notes):
            row[: len(note)] = note
        tags = self.model(batch).argmax(-1).tolist()
        return [tags[i][: len(note)] for i, note in enumerate(notes)]


def main(clock):
    clock.plan(4, 6)
    torch.manual_seed(3)
    model = Tagger()
    if clock.fixed:
        model.eval()
    service = Service(model)
    for step in clock.loop():
        with clock.mark(step, "request"):
            for i in range(8):
                service.submit(torch.randint(WORDS, (150 + 6 * i,)))
            service.answer()


if __name__ == "__main__":
    run(main)
