"""A logistic regression's weights by Hamiltonian Monte Carlo."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each leap computes a gradient before and after it, of which the second is the next leap's first",
    "cause": "the same computed twice",
    "accept": ["largest-part", "python-bound", "eager-execution", "tiny-ops"],
    "rules": ["eager-execution", "tiny-ops"],
    "words": ["leap", "gradient", "log_density"],
    "part": "develop",
}

ROWS, COLUMNS, CHAINS, LEAPS = 400, 12, 8, 10


def log_density(weights, rows, seen):
    score = weights @ rows.T
    return (seen * F.logsigmoid(score) + (1 - seen) * F.logsigmoid(-score)).sum(1) - (
        weights**2
    ).sum(1) / 2


def gradient(weights, rows, seen):
    weights = weights.detach().requires_grad_()
    return torch.autograd.grad(log_density(weights, rows, seen).sum(), weights)[0]


def leap(weights, speed, rows, seen, length, is_fixed):
    if is_fixed:
        speed = speed + length / 2 * gradient(weights, rows, seen)
        for at in range(LEAPS):
            weights = weights + length * speed
            part = length if at < LEAPS - 1 else length / 2
            speed = speed + part * gradient(weights, rows, seen)
        return weights, speed
    for _ in range(LEAPS):
        speed = speed + length / 2 * gradient(weights, rows, seen)  # planted
        weights = weights + length * speed
        speed = speed + length / 2 * gradient(weights, rows, seen)  # planted
    return weights, speed


def draw(weights, rows, seen, is_fixed):
    speed = torch.randn_like(weights)
    before = log_density(weights, rows, seen) - (speed**2).sum(1) / 2
    moved, speed = leap(weights, speed, rows, seen, 0.02, is_fixed)
    after = log_density(moved, rows, seen) - (speed**2).sum(1) / 2
    is_taken = torch.rand(CHAINS).log() < after - before
    return torch.where(is_taken[:, None], moved, weights).detach()


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    rows = torch.randn(ROWS, COLUMNS)
    seen = (rows.sum(1) > 0).float()
    weights = torch.zeros(CHAINS, COLUMNS)
    for step in clock.loop():
        with clock.mark(step):
            weights = draw(weights, rows, seen, clock.fixed)


if __name__ == "__main__":
    run(main)
