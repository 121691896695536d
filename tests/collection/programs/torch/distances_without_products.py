"""A self-organising map of credit-card customers, trained by batches."""
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "cdist gets the mode without products (copied from a thread about rounding): it goes over each pair of customer and node, where the nearest is all that is asked",
    "cause": "an option that takes the slow way",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["winners", "cdist", "_cdist_forward"],
    "part": "score",
}


class SOM:
    def __init__(self, rows, cols, dim, mode):
        self.nodes = torch.randn(rows * cols, dim)
        y, x = torch.meshgrid(torch.arange(rows), torch.arange(cols), indexing="ij")
        self.places = torch.stack([y, x], -1).reshape(-1, 2).float()
        self.mode = mode

    def winners(self, batch):
        return torch.cdist(batch, self.nodes, compute_mode=self.mode).argmin(1)  # planted

    def update(self, batch, radius, rate):
        best = self.winners(batch)
        grid = torch.cdist(self.places, self.places)
        influence = torch.exp(-((grid / radius) ** 2) / 2)[:, best]
        weight = influence.sum(1, keepdim=True) + 1e-6
        self.nodes.lerp_(influence @ batch / weight, rate)
        return best


def quantisation_error(som, batch, best):
    return (batch - som.nodes[best]).norm(dim=1).mean().item()


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    mode = "use_mm_for_euclid_dist" if clock.fixed else "donot_use_mm_for_euclid_dist"
    som = SOM(20, 20, 160, mode)
    customers = torch.randn(20_000, 160)
    errors = []
    for step in clock.loop():
        with clock.mark(step, "epoch"):
            batch = customers[torch.randint(len(customers), (1024,))]
            best = som.update(batch, radius=6 * 0.98**step, rate=0.2)
            errors.append(quantisation_error(som, batch, best))


if __name__ == "__main__":
    run(main)
