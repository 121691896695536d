"""Conditional neural processes for curves."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": None,
    "cause": "healthy",
    "accept": [],
    "rules": [],
    "words": [],
    "part": "develop",
}


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class CNP(nn.Module):
    def __init__(self, width=224):
        super().__init__()
        self.encoder = mlp(2, width, width, width)
        self.decoder = mlp(width + 1, width, width, 2)

    def forward(self, x_context, y_context, x):
        r = self.encoder(torch.cat([x_context, y_context], -1)).mean(1, keepdim=True)
        mean, raw = self.decoder(torch.cat([r.expand(-1, x.shape[1], -1), x], -1)).chunk(2, -1)
        return torch.distributions.Normal(mean, 0.1 + 0.9 * nn.functional.softplus(raw))


def curves(count, points):
    x = torch.rand(count, points, 1) * 4 - 2
    phase, scale = torch.rand(2, count, 1, 1)
    return x, (0.5 + scale) * torch.sin(3 * x + 6 * phase)


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    model = CNP()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    data = [curves(64, 80) for _ in range(7)]
    for step in clock.loop():
        with clock.mark(step):
            x, y = data[step % len(data)]
            curve = model(x[:, :30], y[:, :30], x)
            loss = -curve.log_prob(y).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
