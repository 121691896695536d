import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the whole vocabulary is scored for every token: a softmax over 20,000 words",
    "cause": "one family of ops dominates",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["mm", "linear", "log_softmax", "Linear"],
    "family": "aten::mm",
    "part": "develop",
}


def main(clock):
    clock.plan(3, 5)
    table = nn.Embedding(20000, 64, sparse=True)
    head = nn.Linear(64, 200 if clock.fixed else 20000)  # planted
    optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)
    tokens = torch.randint(0, 200, (64,))
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            nn.functional.cross_entropy(head(table(tokens)), tokens).backward()  # planted
            optimizer.step()


if __name__ == "__main__":
    run(main)
