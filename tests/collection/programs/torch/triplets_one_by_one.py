import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the hardest triplets are looked for pair by pair with .item()",
    "cause": "waits for single numbers",
    "accept": ["host-waits", "tiny-ops", "python-bound", "eager-execution"],
    "rules": ["host-waits", "tiny-ops", "python-bound", "eager-execution"],
    "words": ["mine_triplets"],
    "part": "develop",
}


def mine_triplets(embeddings, labels):
    dist = torch.cdist(embeddings, embeddings)
    positives, negatives = [], []
    for i in range(len(labels)):
        far, near = i, 0
        for j in range(len(labels)):
            if labels[i] == labels[j]:
                if dist[i, j].item() > dist[i, far].item():  # planted
                    far = j
            elif dist[i, j].item() < dist[i, near].item():  # planted
                near = j
        positives.append(far)
        negatives.append(near)
    return positives, negatives


def mine_at_once(embeddings, labels):
    dist = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels[None]
    return dist.masked_fill(~same, -1).argmax(1), dist.masked_fill(same, 1e9).argmin(1)


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 64))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    x, labels = torch.randn(24, 784), torch.randint(0, 4, (24,))
    mine = mine_at_once if clock.fixed else mine_triplets
    for step in clock.loop():
        with clock.mark(step):
            z = net(x)
            with torch.no_grad():
                far, near = mine(z, labels)
            loss = nn.functional.triplet_margin_loss(z, z[far], z[near])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
