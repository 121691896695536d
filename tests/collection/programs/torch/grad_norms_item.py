import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the norm of every parameter's gradient is logged with .item() in every step",
    "cause": "a wait per parameter",
    "accept": ["host-waits", "eager-execution", "python-bound"],
    "rules": ["host-waits"],
    "words": ["grad_norms", "item", "_local_scalar_dense", "norm"],
    "part": "develop",
}


def grad_norms(model):
    return {name: p.grad.norm().item() for name, p in model.named_parameters()}  # planted


def main(clock):
    clock.plan(3, 6)
    model = nn.Sequential(*[nn.Linear(32, 32) for _ in range(60)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(8, 32)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            if not clock.fixed:
                grad_norms(model)
            optimizer.step()


if __name__ == "__main__":
    run(main)
