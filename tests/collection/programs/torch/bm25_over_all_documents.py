"""Hybrid search: words by BM25, meaning by a small encoder, fused by rank."""
import math
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "BM25 goes over every document for each word of a query, where an inverted index knows the few that have it",
    "cause": "a search that looks at everything, in Python",
    "accept": ["largest-part", "python-bound"],
    "rules": ["python-bound"],
    "words": ["Bm25", "score_all", "keyword_scores"],
    "part": "develop",
}

DOCUMENTS, WORDS, WIDTH = 12_000, 8000, 128


class Bm25:
    k1, b = 1.5, 0.75

    def __init__(self, documents):
        self.counts = [Counter(words) for words in documents]
        self.lengths = [len(words) for words in documents]
        self.mean = sum(self.lengths) / len(self.lengths)
        self.postings = defaultdict(list)
        for number, counts in enumerate(self.counts):
            for word in counts:
                self.postings[word].append(number)

    def idf(self, word):
        n = len(self.postings[word])
        return math.log(1 + (len(self.counts) - n + 0.5) / (n + 0.5))

    def weight(self, word, number, idf):
        f = self.counts[number].get(word, 0)
        return idf * f * (self.k1 + 1) / (f + self.k1 * (1 - self.b + self.b * self.lengths[number] / self.mean))

    def score_all(self, query):
        scores = [0.0] * len(self.counts)
        for word in query:
            idf = self.idf(word)
            for number, counts in enumerate(self.counts):
                if word in counts:  # planted
                    scores[number] += self.weight(word, number, idf)
        return scores

    def score_postings(self, query):
        scores = [0.0] * len(self.counts)
        for word in query:
            idf = self.idf(word)
            for number in self.postings[word]:
                scores[number] += self.weight(word, number, idf)
        return scores


class QueryEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, ids):
        return nn.functional.normalize(self.layers(self.embed(ids)).mean(1), dim=-1)


def fuse(keyword, dense, k=20):
    """Reciprocal ranks."""
    places = [scores.topk(k).indices for scores in (keyword, dense)]
    fused = torch.zeros(DOCUMENTS)
    for found in places:
        fused[found] += 1 / (60 + torch.arange(k))
    return fused.topk(k).indices


@torch.inference_mode()
def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    rng = random.Random(0)
    documents = [[min(int(rng.paretovariate(0.7)), WORDS) - 1 for _ in range(30)] for _ in range(DOCUMENTS)]
    index, encoder = Bm25(documents), QueryEncoder().eval()
    vectors = nn.functional.normalize(torch.randn(DOCUMENTS, WIDTH), dim=-1)
    keyword_scores = index.score_postings if clock.fixed else index.score_all
    for step in clock.loop():
        with clock.mark(step, "query"):
            query = [rng.randrange(40, WORDS) for _ in range(8)]
            dense = (encoder(torch.tensor([query])) @ vectors.T)[0]
            fuse(torch.tensor(keyword_scores(query)), dense)


if __name__ == "__main__":
    run(main)
