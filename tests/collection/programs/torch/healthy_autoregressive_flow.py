"""A masked autoregressive flow for tabular densities."""
import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

COLUMNS, WIDTH, BATCH, FLOWS = 24, 256, 256, 2


class Masked(nn.Linear):
    def __init__(self, degrees_in, degrees_out, strict):
        super().__init__(len(degrees_in), len(degrees_out))
        mask = degrees_out[:, None] > degrees_in if strict else degrees_out[:, None] >= degrees_in
        self.register_buffer("mask", mask.float())

    def forward(self, x):
        return nn.functional.linear(x, self.weight * self.mask, self.bias)


class MADE(nn.Module):
    def __init__(self):
        super().__init__()
        inputs, hidden = torch.arange(COLUMNS), torch.arange(WIDTH) % (COLUMNS - 1)
        self.net = nn.Sequential(Masked(inputs, hidden, False), nn.ReLU(), Masked(hidden, hidden, False), nn.ReLU(), Masked(hidden, inputs.repeat(2), True))

    def forward(self, x):
        shift, log_scale = self.net(x).chunk(2, -1)
        log_scale = torch.tanh(log_scale)
        return (x - shift) * torch.exp(-log_scale), -log_scale.sum(-1)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList([MADE() for _ in range(FLOWS)])

    def forward(self, x):
        total = 0.0
        for step in self.steps:
            x, log_det = step(x)
            x, total = x.flip(-1), total + log_det
        return (0.5 * x.square().sum(-1) - total).mean()


def main(clock):
    clock.plan(4, 4)
    torch.manual_seed(0)
    table = TensorDataset(torch.randn(8192, COLUMNS).cumsum(-1) / 5)
    sampler = BatchSampler(RandomSampler(table), BATCH, drop_last=True)
    loader = DataLoader(table, sampler=sampler, batch_size=None)
    model = Flow()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for step, (x,) in enumerate(loader):
        if clock.tick(step):
            break
        with clock.mark(step):
            loss = model(x)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()


if __name__ == "__main__":
    run(main)
