"""TransE on a knowledge graph: entities and relations as vectors, corrupted tails as negatives."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "vectors are taken out of a Parameter by indexing, whose gradient adds rows one after another (index_put with accumulate); F.embedding has a gradient made for it",
    "cause": "an op whose gradient is slow",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["look_up", "index_put_", "_index_put_impl_", "IndexBackward0", "aten::index"],
    "part": "score",
}

ENTITIES, RELATIONS, DIM, BATCH, NEGATIVES = 3000, 40, 64, 256, 16


class TransE(nn.Module):
    def __init__(self, as_embedding):
        super().__init__()
        self.as_embedding = as_embedding
        self.entity = nn.Parameter(torch.empty(ENTITIES, DIM).uniform_(-0.1, 0.1))
        self.relation = nn.Parameter(torch.empty(RELATIONS, DIM).uniform_(-0.1, 0.1))

    def look_up(self, table, ids):
        if self.as_embedding:
            return nn.functional.embedding(ids, table)
        return table[ids]  # planted

    def forward(self, head, relation, tail):
        h, r, t = (
            self.look_up(self.entity, head),
            self.look_up(self.relation, relation),
            self.look_up(self.entity, tail),
        )
        return -(h.unsqueeze(1) + r.unsqueeze(1) - t).abs().sum(-1)


def corrupt(tail):
    fake = torch.randint(ENTITIES, (len(tail), NEGATIVES))
    return torch.cat([tail[:, None], fake], 1)


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(1)
    model = TransE(clock.fixed)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    triples = torch.stack([torch.randint(ENTITIES, (9000,)), torch.randint(RELATIONS, (9000,)), torch.randint(ENTITIES, (9000,))], 1)
    margin = 2.0
    for step in clock.loop():
        with clock.mark(step):
            head, relation, tail = triples[torch.randint(9000, (BATCH,))].unbind(1)
            scores = model(head, relation, corrupt(tail))
            loss = torch.relu(margin - scores[:, :1] + scores[:, 1:]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
