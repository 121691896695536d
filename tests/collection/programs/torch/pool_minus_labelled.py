"""Active learning: the least certain of the pool are labelled next."""
import random
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the unlabelled rows are found by asking a list of the labelled, for each row of the pool, whether it is in there",
    "cause": "quadratic Python",
    "accept": ["largest-part", "python-bound"],
    "rules": ["python-bound"],
    "words": ["unlabelled", "Pool", "listcomp"],
    "part": "develop",
}

ROWS, FIELDS = 6000, 128


class Pool:
    def __init__(self, labelled, as_set):
        self.labelled = labelled
        self.as_set = as_set

    def unlabelled(self):
        known = set(self.labelled) if self.as_set else self.labelled
        return [row for row in range(ROWS) if row not in known]  # planted

    def label(self, rows):
        self.labelled.extend(rows)


class Committee(nn.Module):
    """Three heads that may disagree."""

    def __init__(self, width=192, heads=3, classes=6):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(FIELDS, width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(width, width), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(width, classes) for _ in range(heads))

    def forward(self, x):
        h = self.trunk(x)
        return torch.stack([head(h) for head in self.heads])


def disagreement(logits):
    each = torch.softmax(logits, -1)
    mean = each.mean(0)
    entropy = lambda p: -(p * p.clamp_min(1e-9).log()).sum(-1)
    return entropy(mean) - entropy(each).mean(0)


def main(clock):
    clock.plan(2, 5)
    torch.manual_seed(0)
    rows, classes = torch.randn(ROWS, FIELDS), torch.randint(0, 6, (ROWS,))
    pool = Pool(random.Random(0).sample(range(ROWS), 900), as_set=clock.fixed)
    model = Committee()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    for step in clock.loop():
        with clock.mark(step, "round"):
            free = torch.tensor(pool.unlabelled())
            with torch.no_grad():
                model.eval()
                worth = disagreement(model(rows[free]))
            pool.label(free[worth.topk(16).indices].tolist())
            model.train()
            for _ in range(4):
                batch = torch.tensor(random.choices(pool.labelled, k=128))
                loss = sum(nn.functional.cross_entropy(one, classes[batch]) for one in model(rows[batch]))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


if __name__ == "__main__":
    run(main)
