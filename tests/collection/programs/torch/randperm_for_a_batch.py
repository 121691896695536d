import argparse
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each batch is the head of a permutation of all rows: torch.randperm(len(x))[:batch_size]",
    "cause": "work for all rows where a batch is needed",
    "accept": ["largest-part", "input-bound", "dominant-op"],
    "rules": [],
    "words": ["randperm", "aten::randperm", "get_batch"],
    "part": "develop",
}


class Sine(nn.Module):
    def __init__(self, inside, outside, omega=30.0):
        super().__init__()
        self.linear, self.omega = nn.Linear(inside, outside), omega
        bound = (6 / inside) ** 0.5 / omega
        nn.init.uniform_(self.linear.weight, -bound, bound)

    def forward(self, x):
        return torch.sin(self.omega * self.linear(x))


def make_field(args):
    """A surrogate of a flow: position, time and Reynolds number in; velocity and pressure out."""
    return nn.Sequential(
        Sine(5, args.width), Sine(args.width, args.width), Sine(args.width, args.width),
        nn.Linear(args.width, 4),
    )  # fmt: skip


def simulation(cells):
    """What a solver left behind, flattened."""
    x = torch.rand(cells, 5)
    y = torch.stack([x[:, i] * torch.cos(6 * x[:, i + 1]) for i in range(4)], 1)
    return x, y


def batches_of(x, y, args):
    def get_batch():
        if args.with_replacement:
            idx = torch.randint(0, len(x), (args.batch_size,))
        else:
            idx = torch.randperm(len(x))[: args.batch_size]  # planted
        return x[idx], y[idx]

    return get_batch


def arguments(fixed):
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--cells", type=int, default=1_500_000)
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--with-replacement", action="store_true", default=fixed)
    return parser.parse_args([])


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    args = arguments(clock.fixed)
    model = make_field(args)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9999)
    get_batch = batches_of(*simulation(args.cells), args)
    best = float("inf")
    for step in clock.loop():
        with clock.mark(step):
            x, y = get_batch()
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        if step % 100 == 99:
            best = min(best, loss.item())


if __name__ == "__main__":
    run(main)
