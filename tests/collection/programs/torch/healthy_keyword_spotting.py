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


class M5(nn.Module):
    """Words from raw sound: https://arxiv.org/abs/1610.00087."""

    def __init__(self, words=35, width=48):
        super().__init__()
        self.conv1 = nn.Conv1d(1, width, 80, stride=8)
        self.conv2 = nn.Conv1d(width, width, 3)
        self.conv3 = nn.Conv1d(width, 2 * width, 3)
        self.norms = nn.ModuleList(nn.BatchNorm1d(n) for n in (width, width, 2 * width))
        self.head = nn.Linear(2 * width, words)

    def forward(self, x):
        for conv, norm in zip((self.conv1, self.conv2, self.conv3), self.norms):
            x = F.max_pool1d(F.relu(norm(conv(x))), 4)
        return self.head(x.mean(-1))


class RunningAccuracy:
    """Read once an epoch."""

    def __init__(self):
        self.right, self.seen = torch.zeros((), dtype=torch.long), 0

    def update(self, logits, labels):
        self.right += (logits.argmax(1) == labels).sum()
        self.seen += len(labels)


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    sounds, labels = torch.randn(160, 1, 8000), torch.randint(0, 35, (160,))
    model, accuracy = M5(), RunningAccuracy()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-4, fused=True)
    model.train()
    for step in clock.loop():
        with clock.mark(step):
            at = step * 32 % len(sounds)
            logits = model(sounds[at : at + 32])
            loss = F.cross_entropy(logits, labels[at : at + 32])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            accuracy.update(logits.detach(), labels[at : at + 32])


if __name__ == "__main__":
    run(main)
