"""Formation energies of crystals by a graph network (CGCNN)."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

ATOMS, NEIGHBOURS, WIDTH, GAUSSIANS, CRYSTALS = 24, 12, 64, 32, 24


class GatedConv(nn.Module):
    def __init__(self):
        super().__init__()
        self.own, self.other = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.bond = nn.Linear(GAUSSIANS, 2 * WIDTH, bias=False)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x, neighbours, bonds):
        message = self.own(x).unsqueeze(1) + self.other(x)[neighbours] + self.bond(bonds)
        gate, core = message.chunk(2, -1)
        total = (torch.sigmoid(gate) * nn.functional.softplus(core)).sum(1)
        return nn.functional.softplus(x + self.norm(total))


class CGCNN(nn.Module):
    def __init__(self, elements=90, depth=3):
        super().__init__()
        self.element = nn.Embedding(elements, WIDTH)
        self.convs = nn.ModuleList([GatedConv() for _ in range(depth)])
        self.head = nn.Sequential(nn.Linear(WIDTH, 128), nn.Softplus(), nn.Linear(128, 1))

    def forward(self, elements, neighbours, bonds):
        x = self.element(elements)
        for conv in self.convs:
            x = conv(x, neighbours, bonds)
        return self.head(x.view(CRYSTALS, ATOMS, WIDTH).mean(1)).squeeze(-1)


def make_batch():
    first = torch.arange(CRYSTALS).repeat_interleave(ATOMS) * ATOMS
    neighbours = first[:, None] + torch.randint(ATOMS, (CRYSTALS * ATOMS, NEIGHBOURS))
    lengths = torch.rand(CRYSTALS * ATOMS, NEIGHBOURS, 1) * 8
    bonds = torch.exp(-((lengths - torch.linspace(0, 8, GAUSSIANS)) ** 2) / 0.1)
    return torch.randint(90, (CRYSTALS * ATOMS,)), neighbours, bonds, torch.randn(CRYSTALS)


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = CGCNN()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    batches = [make_batch() for _ in range(6)]
    for step in clock.loop():
        with clock.mark(step):
            *inputs, energies = batches[step % 6]
            loss = nn.functional.l1_loss(model(*inputs), energies)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
