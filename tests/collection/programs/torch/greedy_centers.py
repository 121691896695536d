import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each center of the core set asks for the distances to all that were chosen before",
    "cause": "distances computed again",
    "accept": ["largest-part", "rows-again"],
    "rules": ["dominant-op"],
    "words": ["cdist"],
    "part": "develop",
}


@torch.no_grad()
def select(embedded, labeled, budget):
    chosen = list(labeled)
    for _ in range(budget):
        distances = torch.cdist(embedded, embedded[chosen])  # planted
        nearest = distances.min(dim=1).values  # planted
        chosen.append(int(nearest.argmax()))
    return chosen[len(labeled) :]


@torch.no_grad()
def select_once(embedded, labeled, budget):
    nearest = torch.cdist(embedded, embedded[labeled]).min(dim=1).values
    found = []
    for _ in range(budget):
        found.append(int(nearest.argmax()))
        nearest = torch.minimum(nearest, torch.cdist(embedded, embedded[found[-1:]])[:, 0])
    return found


def main(clock):
    clock.plan(1, 4)
    torch.manual_seed(0)
    pool_x, pool_y = torch.randn(1500, 24), torch.randint(5, (1500,))
    model = nn.Sequential(
        nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 5)
    )
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    labeled = list(range(80))
    for step in clock.loop():
        with clock.mark(step):
            chosen = torch.tensor(labeled)
            loss = F.cross_entropy(model(pool_x[chosen]), pool_y[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                embedded = model[:4](pool_x)
            labeled += (select_once if clock.fixed else select)(embedded, labeled, 12)


if __name__ == "__main__":
    run(main)
