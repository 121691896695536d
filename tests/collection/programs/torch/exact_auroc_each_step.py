import sys
from pathlib import Path

import torch
from torch import nn
from torchmetrics.classification import MulticlassAUROC

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the exact AUROC of all predictions of the epoch is computed after every batch, for a progress bar",
    "cause": "metric of a library computed too often",
    "accept": ["python-bound"],
    "rules": ["dominant-op", "python-bound", "eager-execution", "launch-bound", "tiny-kernels"],
    "words": ["torchmetrics", "AUROC", "auroc", "compute", "Progress", "argsort", "sort"],
    "part": "develop",
}


class Progress:
    def __init__(self, classes, every):
        self.metric = MulticlassAUROC(classes, thresholds=None, validate_args=False)
        self.every = every
        self.seen = 0
        self.value = 0.0

    def after_batch(self, logits, labels):
        self.metric.update(logits.detach(), labels)
        self.seen += 1
        if self.seen % self.every == 0:
            self.value = float(self.metric.compute())  # planted


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Dropout(0.1), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    optimizer = torch.optim.Adam(model.parameters())
    progress = Progress(10, every=100 if clock.fixed else 1)
    for step in clock.loop():
        with clock.mark(step):
            x, y = torch.randn(512, 128), torch.randint(0, 10, (512,))
            logits = model(x)
            optimizer.zero_grad()
            nn.functional.cross_entropy(logits, y).backward()
            optimizer.step()
            progress.after_batch(logits, y)


if __name__ == "__main__":
    run(main)
