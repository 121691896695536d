import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the contractive penalty differentiates every hidden unit by itself, a backward pass for each",
    "cause": "many backward passes where a formula would do",
    "accept": ["eager-execution", "tiny-kernels"],
    "rules": ["dominant-op", "eager-execution", "launch-bound", "tiny-kernels"],
    "words": ["contractive_penalty", "autograd.grad", "row_of_jacobian"],
    "repeats": 16,
    "part": "develop",
}


def contractive_penalty(hidden, x):
    total = 0.0
    for unit in range(hidden.shape[1]):
        row_of_jacobian = torch.autograd.grad(hidden[:, unit].sum(), x, create_graph=True)[0]  # planted
        total = total + row_of_jacobian.square().sum()  # planted
    return total / len(x)


def penalty_by_formula(hidden, weight):
    slope = (hidden * (1 - hidden)).square()
    return (slope @ weight.square().sum(1)).mean()


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    encoder, decoder = nn.Linear(784, 16), nn.Sequential(nn.Linear(16, 512), nn.ReLU(), nn.Linear(512, 784))
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
    data = torch.rand(2048, 784)
    for step in clock.loop():
        with clock.mark(step):
            x = data[torch.randint(0, 2048, (128,))].requires_grad_()
            hidden = torch.sigmoid(encoder(x))
            loss = nn.functional.mse_loss(decoder(hidden), x)
            if clock.fixed:
                loss = loss + 1e-4 * penalty_by_formula(hidden, encoder.weight)
            else:
                loss = loss + 1e-4 * contractive_penalty(hidden, x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
