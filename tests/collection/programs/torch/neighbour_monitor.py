import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a nearest-neighbour score over all training embeddings runs in every step",
    "cause": "an evaluation in the loop",
    "accept": ["python-bound", "dominant-op"],
    "rules": ["dominant-op"],
    "words": [
        "neighbour_score",
        "cdist",
        "topk",
        "aten/_euclidean_dist",
        "_euclidean_dist",
        "cdist_forward",
    ],
    "part": "develop",
}


@torch.no_grad()
def neighbour_score(embedded, bank, labels):
    near = torch.cdist(embedded, bank).topk(20, largest=False).indices  # planted
    return (labels[near].mode(dim=1).values == labels[: len(embedded)]).float().mean()


def main(clock):
    clock.plan(2, 5)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 32))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, bank = torch.randn(128, 64), torch.randn(20000, 32)
    labels = torch.randint(0, 10, (20000,))
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            embedded = model(x)
            embedded.square().mean().backward()
            optimizer.step()
            if not clock.fixed:
                neighbour_score(embedded, bank, labels)


if __name__ == "__main__":
    run(main)
