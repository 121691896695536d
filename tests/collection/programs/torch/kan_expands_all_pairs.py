"""Symbolic regression with a Kolmogorov-Arnold network (splines on the edges)."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the layer repeats its inputs for every output and computes the B-spline basis for each pair, though it depends on the input alone",
    "cause": "order of operations",
    "accept": ["largest-part", "dominant-op", "unfused-ops"],
    "rules": ["dominant-op", "unfused-ops"],
    "words": ["b_splines", "KANLayer", "on_every_edge"],
    "part": "develop",
}


class KANLayer(nn.Module):
    def __init__(self, in_dim, out_dim, grid=5, order=3, share_basis=False):
        super().__init__()
        self.in_dim, self.out_dim, self.order, self.share_basis = in_dim, out_dim, order, share_basis
        h = 2.0 / grid
        self.register_buffer("knots", torch.arange(-order, grid + order + 1) * h - 1)
        self.coefficients = nn.Parameter(0.1 * torch.randn(out_dim, in_dim, grid + order))
        self.base = nn.Parameter(torch.randn(out_dim, in_dim) * in_dim**-0.5)

    def b_splines(self, x):
        """Values of all basis functions (Cox-de Boor)."""
        x, t = x.unsqueeze(-1), self.knots
        basis = ((x >= t[:-1]) & (x < t[1:])).to(x.dtype)
        for k in range(1, self.order + 1):
            left = (x - t[: -k - 1]) / (t[k:-1] - t[: -k - 1]) * basis[..., :-1]  # planted
            right = (t[k + 1 :] - x) / (t[k + 1 :] - t[1:-k]) * basis[..., 1:]  # planted
            basis = left + right  # planted
        return basis

    def on_every_edge(self, x):
        x = x.unsqueeze(1).expand(-1, self.out_dim, -1)
        basis = self.b_splines(x)  # planted
        return (basis * self.coefficients).sum((-1, -2))  # planted

    def on_inputs(self, x):
        return self.b_splines(x).flatten(1) @ self.coefficients.flatten(1).T

    def forward(self, x):
        spline = self.on_inputs(x) if self.share_basis else self.on_every_edge(x)
        return nn.functional.silu(x) @ self.base.T + spline


class KAN(nn.Sequential):
    def __init__(self, widths, **kwargs):
        super().__init__(*[KANLayer(a, b, **kwargs) for a, b in zip(widths, widths[1:])])


def fit(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x).squeeze(-1), y)
    loss.backward()
    optimizer.step()
    return loss.detach()


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    model = KAN([32, 6, 4, 1], share_basis=clock.fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.rand(4096, 32) * 2 - 1
    y = torch.sin(torch.pi * x[:, 0] * x[:, 1]) + x[:, 2] ** 2
    for step in clock.loop():
        with clock.mark(step):
            rows = torch.randint(len(x), (512,))
            fit(model, optimizer, x[rows], y[rows])


if __name__ == "__main__":
    run(main)
