"""Entities of a knowledge graph typed by a relational graph convolution (R-GCN)."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the convolution asks for every one of 60 relations which of all edges have it, by a mask, though edges never change and could be sorted once",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part", "tiny-ops", "tiny-kernels", "eager-execution", "launch-bound", "dominant-op"],
    "rules": ["tiny-ops", "tiny-kernels", "eager-execution", "launch-bound", "dominant-op"],
    "words": ["RelationalConv", "aten::nonzero", "aten::eq", "relation_messages"],
    "part": "develop",
}

ENTITIES, EDGES, RELATIONS, WIDTH = 1500, 100_000, 60, 12


class RelationalConv(nn.Module):
    def __init__(self, fan_in, fan_out, relations, bases=4):
        super().__init__()
        self.bases = nn.Parameter(torch.randn(bases, fan_in, fan_out) * fan_in**-0.5)
        self.mixture = nn.Parameter(torch.randn(relations, bases))
        self.own = nn.Linear(fan_in, fan_out)

    def relation_messages(self, x, sources, targets, kinds, groups):
        weights = torch.einsum("rb,bio->rio", self.mixture, self.bases)
        total = x.new_zeros(len(x), weights.shape[-1])
        for relation, weight in enumerate(weights):
            if groups is not None:
                rows = groups[relation]
            else:
                rows = (kinds == relation).nonzero(as_tuple=True)[0]  # planted
            if len(rows):
                total = total.index_add(0, targets[rows], x[sources[rows]] @ weight)
        return total

    def forward(self, x, sources, targets, kinds, groups=None):
        return self.own(x) + self.relation_messages(x, sources, targets, kinds, groups)


class RGCN(nn.Module):
    def __init__(self, types=10):
        super().__init__()
        self.embed = nn.Embedding(ENTITIES, WIDTH)
        self.first = RelationalConv(WIDTH, WIDTH, RELATIONS)
        self.second = nn.Linear(WIDTH, types)

    def forward(self, *graph):
        return self.second(torch.relu(self.first(self.embed.weight, *graph)))


def split_by_relation(kinds):
    order = kinds.argsort(stable=True)
    return order.split(torch.bincount(kinds, minlength=RELATIONS).tolist())


def main(clock):
    clock.plan(2, 2)
    torch.manual_seed(0)
    sources, targets = torch.randint(ENTITIES, (2, EDGES))
    # A few relations are common, most are rare.
    kinds = (torch.rand(EDGES) ** 4 * RELATIONS).long()
    groups = split_by_relation(kinds) if clock.fixed else None
    truth = torch.randint(10, (ENTITIES,))
    model = RGCN()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, foreach=True)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            logits = model(sources, targets, kinds, groups)
            loss = nn.functional.cross_entropy(logits[:200], truth[:200])
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
