import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "label smoothing through a dense table of targets and a KL divergence",
    "cause": "a huge intermediate",
    "accept": [],
    "rules": [],
    "words": ["LabelSmoothing", "KLDivLoss", "kl_div"],
    "part": "develop",
}


class LabelSmoothing(nn.Module):
    def __init__(self, size, smoothing=0.1):
        super().__init__()
        self.criterion = nn.KLDivLoss(reduction="sum")
        self.size, self.smoothing = size, smoothing

    def smooth_targets(self, x, target):
        true_dist = x.data.clone()  # planted
        true_dist.fill_(self.smoothing / (self.size - 2))  # planted
        true_dist.scatter_(1, target[:, None], 1 - self.smoothing)  # planted
        return true_dist

    def forward(self, logits, target):
        x = torch.log_softmax(logits, -1)
        return self.criterion(x, self.smooth_targets(x, target)) / len(target)  # planted


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    vocabulary = 8000
    model = nn.Sequential(nn.Embedding(vocabulary, 64), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, vocabulary))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1) if clock.fixed else LabelSmoothing(vocabulary)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for step in clock.loop():
        with clock.mark(step):
            tokens = torch.randint(0, vocabulary, (512,))
            loss = criterion(model(tokens), tokens)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
