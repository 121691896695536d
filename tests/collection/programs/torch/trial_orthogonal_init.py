import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each trial of a search makes its wide layers orthogonal again",
    "cause": "setup inside of the loop",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["build_model", "orthogonal_", "linalg_qr", "geqrf", "orgqr", "householder"],
    "family": "qr",
    "part": "develop",
}


def build_model(width, is_orthogonal):
    model = nn.Sequential(nn.Linear(64, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
    if is_orthogonal:
        for layer in model:
            if isinstance(layer, nn.Linear):
                nn.init.orthogonal_(layer.weight)  # planted
    return model


def objective(lr, x, y, is_orthogonal):
    model = build_model(640, is_orthogonal)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def main(clock):
    clock.plan(2, 6)
    torch.manual_seed(0)
    x, y = torch.randn(32, 64), torch.randn(32, 1)
    best = (None, float("inf"))
    for trial in clock.loop():
        with clock.mark(trial, "trial"):
            lr = 10 ** (-1 - 0.3 * trial)
            value = objective(lr, x, y, not clock.fixed)
            if value < best[1]:
                best = (lr, value)


if __name__ == "__main__":
    run(main)
