"""Fine-tuning with gradients of five small batches for each update."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "gradients are clipped after each of five micro-batches, over all 4 million of them, and not once before the update",
    "cause": "work done more often than it is needed",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["clip_grad_norm_", "clip_grads_with_norm_", "get_total_norm", "aten::_foreach_norm", "aten::_foreach_mul_"],
    "part": "develop",
}

ACCUMULATE, MICRO = 5, 2


class Classifier(nn.Module):
    def __init__(self, words=1500, width=448, depth=4, classes=5):
        super().__init__()
        self.embed = nn.EmbeddingBag(words, width)
        self.layers = nn.Sequential(*[nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)) for _ in range(depth)])
        self.head = nn.Linear(width, classes)

    def forward(self, ids):
        return self.head(self.layers(self.embed(ids)))


class Accumulator:
    """Gathers gradients of several batches, then updates."""

    def __init__(self, model, optimizer, clips_at_end):
        self.model, self.optimizer, self.clips_at_end, self.seen = model, optimizer, clips_at_end, 0

    def clip(self):
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)

    def backward(self, loss):
        (loss / ACCUMULATE).backward()
        self.seen += 1
        is_last = self.seen % ACCUMULATE == 0
        if not self.clips_at_end:
            self.clip()  # planted
        elif is_last:
            self.clip()
        if is_last:
            self.optimizer.step()
            self.optimizer.zero_grad()


def main(clock):
    clock.plan(2, 2)
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, foreach=True)
    accumulator = Accumulator(model, optimizer, clips_at_end=clock.fixed)
    ids, labels = torch.randint(0, 1500, (40, MICRO, 64)), torch.randint(0, 5, (40, MICRO))
    at = 0
    for step in clock.loop():
        with clock.mark(step):
            for _ in range(ACCUMULATE):
                loss = nn.functional.cross_entropy(model(ids[at % 40]), labels[at % 40])
                accumulator.backward(loss)
                at += 1


if __name__ == "__main__":
    run(main)
