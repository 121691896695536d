"""TuckER: links of a knowledge graph by a core tensor."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the core tensor is multiplied by each relation of the batch first, which makes a matrix per row, although rows share few relations",
    "cause": "order of operations",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["mix", "TuckER", "aten::bmm", "aten::einsum"],
    "part": "develop",
}


class TuckER(nn.Module):
    def __init__(self, entities=4000, relations=12, d_entity=128, d_relation=48, by_relation=False):
        super().__init__()
        self.entity = nn.Embedding(entities, d_entity)
        self.relation = nn.Embedding(relations, d_relation)
        self.core = nn.Parameter(torch.empty(d_relation, d_entity, d_entity).uniform_(-0.1, 0.1))
        self.norm = nn.BatchNorm1d(d_entity)
        self.by_relation = by_relation

    def mix(self, subjects, relations):
        e = self.norm(self.entity(subjects))
        if self.by_relation:
            d = e.shape[-1]
            matrices = (self.relation.weight @ self.core.flatten(1)).view(-1, d, d)
            return torch.cat([e[relations == r] @ m for r, m in enumerate(matrices)])
        matrices = torch.einsum("br,rij->bij", self.relation(relations), self.core)  # planted
        return torch.einsum("bi,bij->bj", e, matrices)  # planted

    def forward(self, subjects, relations):
        return self.mix(subjects, relations) @ self.entity.weight.T


class Links(torch.utils.data.IterableDataset):
    """Batches of links, sorted by relation as the one-to-many scorer wants them."""

    def __init__(self, entities, relations, batch):
        self.entities, self.relations, self.batch = entities, relations, batch
        self.generator = torch.Generator().manual_seed(0)

    def __iter__(self):
        while True:
            subjects, objects = torch.randint(self.entities, (2, self.batch), generator=self.generator)
            relations = torch.randint(self.relations, (self.batch,), generator=self.generator)
            yield subjects, relations.sort().values, objects


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    model = TuckER(by_relation=clock.fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    links = iter(torch.utils.data.DataLoader(Links(4000, 12, 128), batch_size=None))
    for step in clock.loop():
        with clock.mark(step):
            subjects, relations, objects = next(links)
            loss = F.cross_entropy(model(subjects, relations), objects)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
