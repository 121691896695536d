import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": None,
    "cause": "healthy",
    "accept": [],
    "rules": [],
    "words": [],
    "part": "develop",
}


class MixerBlock(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens_up, self.tokens_down = nn.Linear(tokens, 128), nn.Linear(128, tokens)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.tokens_down(F.gelu(self.tokens_up(self.norm1(x).transpose(1, 2))))
        x = x + y.transpose(1, 2)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class MLPMixer(nn.Module):
    def __init__(self, size=64, patch=8, width=256, depth=4, classes=100):
        super().__init__()
        self.stem = nn.Conv2d(3, width, patch, stride=patch)
        self.blocks = nn.Sequential(*[MixerBlock((size // patch) ** 2, width) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, images):
        x = self.stem(images).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(1))


class TopK:
    def __init__(self, k=5):
        self.k, self.hits, self.seen = k, torch.zeros((), dtype=torch.long), 0

    def update(self, logits, labels):
        self.hits += (logits.topk(self.k, 1).indices == labels[:, None]).sum()
        self.seen += len(labels)


@torch.inference_mode()
def evaluate(model, images, labels, batch_size, clock):
    model.eval()
    top1, top5 = TopK(1), TopK(5)
    for step in clock.loop():
        with clock.mark(step, "eval"):
            at = step * batch_size % len(images)
            logits = model(images[at : at + batch_size])
            top1.update(logits, labels[at : at + batch_size])
            top5.update(logits, labels[at : at + batch_size])
    return top1, top5


def main(clock):
    clock.plan(2, 6)
    torch.manual_seed(0)
    evaluate(MLPMixer(), torch.rand(128, 3, 64, 64), torch.randint(0, 100, (128,)), 32, clock)


if __name__ == "__main__":
    run(main)
