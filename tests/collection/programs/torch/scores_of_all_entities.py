"""Link prediction in a knowledge graph (DistMult), with sampled candidates."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each query is scored against all 9,000 entities, and the scores of its 24 candidates are gathered",
    "cause": "work done in vain",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["scores_of_candidates", "aten::gather", "GatherBackward0", "aten::mm"],
    "part": "develop",
}

ENTITIES, RELATIONS, SIZE, BATCH, CANDIDATES = 9000, 12, 96, 160, 24


class DistMult(nn.Module):
    def __init__(self, local):
        super().__init__()
        self.local = local
        self.entities = nn.Embedding(ENTITIES, SIZE)
        self.relations = nn.Embedding(RELATIONS, SIZE)
        self.mix = nn.Sequential(nn.Linear(SIZE, 2 * SIZE), nn.GELU(), nn.Linear(2 * SIZE, SIZE))

    def scores_of_candidates(self, query, candidates):
        if self.local:
            return torch.einsum("bd,bcd->bc", query, self.entities(candidates))
        scores = query @ self.entities.weight.t()  # planted
        return scores.gather(1, candidates)  # planted

    def forward(self, head, relation, candidates):
        query = self.mix(self.entities(head) * self.relations(relation))
        return self.scores_of_candidates(query, candidates)


def main(clock):
    clock.plan(2, 6)
    torch.manual_seed(0)
    model = DistMult(local=clock.fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    target = torch.zeros(BATCH, dtype=torch.long)
    for step in clock.loop():
        with clock.mark(step):
            head = torch.randint(ENTITIES, (BATCH,))
            relation = torch.randint(RELATIONS, (BATCH,))
            candidates = torch.randint(ENTITIES, (BATCH, CANDIDATES))
            loss = F.cross_entropy(model(head, relation, candidates), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
