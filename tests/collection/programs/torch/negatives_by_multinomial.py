# skip-gram with negative sampling, after the paper
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the negatives of each pair are drawn by multinomial without replacement, which makes a random number for every word of the vocabulary and every pair",
    "cause": "a costly way to draw the same",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["draw_negatives", "multinomial", "exponential_", "aten::topk", "argmax"],
    "part": "score",
}

V, D, B, K = 4000, 100, 192, 8


class SkipGram(torch.nn.Module):
    def __init__(self, frequencies):
        super().__init__()
        self.center = torch.nn.Embedding(V, D, sparse=True)
        self.context = torch.nn.Embedding(V, D, sparse=True)
        self.weights = frequencies**0.75
        self.table = torch.multinomial(self.weights, 400_000, replacement=True)

    def draw_negatives(self, n):
        return torch.multinomial(self.weights.expand(n, V), K)  # planted

    def negatives_of_table(self, n):
        return self.table[torch.randint(len(self.table), (n, K))]

    def loss(self, words, around, negatives):
        c = self.center(words)
        near = (c * self.context(around)).sum(-1)
        far = torch.bmm(self.context(negatives), c[:, :, None])[..., 0]
        return -(F.logsigmoid(near).mean() + F.logsigmoid(-far).sum(1).mean())


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    frequencies = 1.0 / torch.arange(1, V + 1, dtype=torch.float)
    model = SkipGram(frequencies)
    opt = torch.optim.SparseAdam(list(model.parameters()), lr=1e-3)
    corpus = torch.multinomial(frequencies, 50_000, replacement=True)
    draw = model.negatives_of_table if clock.fixed else model.draw_negatives
    for step in clock.loop():
        with clock.mark(step, "pairs"):
            at = torch.randint(5, len(corpus) - 5, (B,))
            words, around = corpus[at], corpus[at + torch.randint(1, 5, (B,))]
            loss = model.loss(words, around, draw(B))
            opt.zero_grad()
            loss.backward()
            opt.step()


if __name__ == "__main__":
    run(main)
