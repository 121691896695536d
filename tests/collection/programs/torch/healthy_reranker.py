"""Passages ranked for a question by a cross-encoder, batches sorted by length."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

WORDS, WIDTH, HEADS, PASSAGES, BATCH = 6000, 160, 4, 160, 16


class CrossEncoder(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.place = nn.Embedding(128, WIDTH)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, batch_first=True, norm_first=True) for _ in range(depth)])
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, tokens):
        x = self.embed(tokens) + self.place.weight[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, 0]).squeeze(-1)


def batches(lengths):
    """Passages of one length come together: nothing is padded."""
    lengths = sorted(lengths)
    for start in range(0, len(lengths), BATCH):
        longest = lengths[start + BATCH - 1]
        yield torch.randint(1, WORDS, (BATCH, longest))


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    model = CrossEncoder().eval()
    lengths = (torch.randint(6, 8, (PASSAGES,)) * 8).tolist()
    scores = []
    with torch.inference_mode():
        for step, tokens in enumerate(batches(lengths)):
            if clock.tick(step):
                break
            with clock.mark(step):
                scores.append(model(tokens))


if __name__ == "__main__":
    run(main)
