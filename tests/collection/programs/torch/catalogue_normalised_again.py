import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each request normalises the vectors of the whole catalogue before it looks for the nearest",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["cosine_scores", "normalize", "aten::linalg_vector_norm", "aten::norm", "aten::div"],
    "part": "develop",
}


class QueryTower(nn.Module):
    """Words of a search, averaged, and a residual network."""

    def __init__(self, vocab=20000, width=96, blocks=3):
        super().__init__()
        self.words = nn.EmbeddingBag(vocab, width, mode="mean", padding_idx=0)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(width),
                nn.Linear(width, 4 * width),
                nn.GELU(),
                nn.Linear(4 * width, width),
            )
            for _ in range(blocks)
        )

    def forward(self, ids):
        x = self.words(ids)
        for block in self.blocks:
            x = x + block(x)
        return F.normalize(x, dim=-1)


class Catalogue:
    def __init__(self, vectors, is_unit):
        self.vectors, self.is_unit = vectors, is_unit
        self.blocked = torch.zeros(len(vectors), dtype=torch.bool)

    def cosine_scores(self, queries):
        if self.is_unit:
            return queries @ self.vectors.T
        return queries @ F.normalize(self.vectors, dim=-1).T  # planted

    def nearest(self, queries, k):
        scores = self.cosine_scores(queries)
        return scores.masked_fill_(self.blocked, float("-inf")).topk(k, dim=-1)


class SearchService:
    def __init__(self, tower, catalogue, k=20):
        self.tower, self.catalogue, self.k = tower.eval(), catalogue, k

    @torch.inference_mode()
    def answer(self, ids):
        scores, items = self.catalogue.nearest(self.tower(ids), self.k)
        return [{"items": items, "scores": scores}]


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    vectors = torch.randn(200_000, 96)
    if clock.fixed:
        vectors = F.normalize(vectors, dim=-1)
    service = SearchService(QueryTower(), Catalogue(vectors, is_unit=clock.fixed))
    requests = torch.randint(1, 20000, (40, 16, 12))
    served = 0
    for step in clock.loop():
        with clock.mark(step, "request"):
            served += len(service.answer(requests[step % 40]))


if __name__ == "__main__":
    run(main)
