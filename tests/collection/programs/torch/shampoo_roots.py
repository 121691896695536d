import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.optimizer import Optimizer

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the optimizer takes inverse roots of all its preconditioners by SVD in each step",
    "cause": "a decomposition in each step that could be made now and then",
    "accept": ["largest-part", "dominant-op", "optimizer-per-variable"],
    "rules": ["dominant-op", "optimizer-per-variable"],
    "words": ["svd", "_matrix_power", "Shampoo"],
    "part": "develop",
}


def _matrix_power(matrix, power):
    u, s, v = torch.svd(matrix)  # planted
    return u @ s.pow_(power).diag() @ v.t()


class Shampoo(Optimizer):
    """Shampoo, after the small version that goes around."""

    def __init__(self, params, lr=1e-1, momentum=0.9, epsilon=1e-4, update_freq=1):
        defaults = dict(lr=lr, momentum=momentum, epsilon=epsilon, update_freq=update_freq)
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                grad, order = p.grad, p.grad.ndimension()
                size, state = grad.size(), self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["momentum_buffer"] = grad.clone()
                    for d, width in enumerate(size):
                        state[f"precond_{d}"] = group["epsilon"] * torch.eye(width)
                        state[f"inv_precond_{d}"] = torch.zeros(width, width)
                grad = grad + group["momentum"] * state["momentum_buffer"]
                for d, width in enumerate(size):
                    grad = grad.transpose(0, d).contiguous()
                    shape = grad.size()
                    grad = grad.view(width, -1)
                    state[f"precond_{d}"].add_(grad @ grad.t())
                    if state["step"] % group["update_freq"] == 0:
                        root = _matrix_power(state[f"precond_{d}"], -1 / order)
                        state[f"inv_precond_{d}"].copy_(root)
                    grad = (state[f"inv_precond_{d}"] @ grad).view(shape).transpose(0, d)
                state["step"] += 1
                state["momentum_buffer"] = grad
                p.add_(grad, alpha=-group["lr"])


class DeepSets(nn.Module):
    def __init__(self, width=160):
        super().__init__()
        self.phi = nn.Sequential(
            nn.Linear(16, width, bias=False), nn.ELU(), nn.Linear(width, width, bias=False), nn.ELU()
        )
        self.rho = nn.Sequential(nn.Linear(width, width, bias=False), nn.ELU(), nn.Linear(width, 1, bias=False))

    def forward(self, x):
        return self.rho(self.phi(x).mean(1))[:, 0]


def main(clock):
    clock.plan(2, 5)
    torch.manual_seed(0)
    args = {"lr": 0.01, "update_freq": 50 if clock.fixed else 1}
    model = DeepSets()
    optimizer = Shampoo(model.parameters(), **args)
    sets = torch.randn(64, 48, 16)
    target = sets.norm(dim=2).amax(1)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            loss = F.smooth_l1_loss(model(sets), target)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()


if __name__ == "__main__":
    run(main)
