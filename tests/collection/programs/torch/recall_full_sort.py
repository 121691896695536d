import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "recall at 10 sorts the scores of all items",
    "cause": "a metric that costs more than the model",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["recall_at_k", "sort", "argsort"],
    "family": "sort",
    "part": "develop",
}


def recall_at_k(scores, target, k=10):
    ranked = torch.argsort(scores, dim=1, descending=True)  # planted
    return (ranked[:, :k] == target[:, None]).any(1).float().mean()


def recall_topk(scores, target, k=10):
    return (scores.topk(k, dim=1).indices == target[:, None]).any(1).float().mean()


class SessionRecommender(nn.Module):
    def __init__(self, items, size=32):
        super().__init__()
        self.items = nn.Embedding(items, size)
        self.gru = nn.GRU(size, size, batch_first=True)

    def forward(self, clicks):
        _, last = self.gru(self.items(clicks))
        return last[0] @ self.items.weight.t()


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    model = SessionRecommender(10_000)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    metric = recall_topk if clock.fixed else recall_at_k
    for step in clock.loop():
        with clock.mark(step):
            clicks = torch.randint(0, 10_000, (64, 10))
            target = torch.randint(0, 10_000, (64,))
            scores = model(clicks)
            loss = nn.functional.cross_entropy(scores, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            recall = metric(scores.detach(), target)


if __name__ == "__main__":
    run(main)
