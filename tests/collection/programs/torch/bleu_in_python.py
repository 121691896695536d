import sys
from collections import Counter
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a BLEU-like score over n-grams in pure Python in every step",
    "cause": "a slow metric",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["ngram_overlap", "score_batch", "Counter"],
    "part": "develop",
}


def ngram_overlap(guess, truth):
    total = 0
    for n in (1, 2, 3, 4):
        a = Counter(tuple(guess[i : i + n]) for i in range(len(guess) - n))  # planted
        b = Counter(tuple(truth[i : i + n]) for i in range(len(truth) - n))  # planted
        total += sum((a & b).values())
    return total


def score_batch(guesses, truths):
    return sum(ngram_overlap(g, t) for g, t in zip(guesses, truths))


def main(clock):
    clock.plan(2, 5)
    table = nn.Embedding(100, 64)
    head = nn.Linear(64, 100)
    optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)
    tokens = torch.randint(0, 100, (16, 50))
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            logits = head(table(tokens))
            nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten()).backward()
            optimizer.step()
            if not clock.fixed:
                score_batch(logits.argmax(-1).tolist(), tokens.tolist())


if __name__ == "__main__":
    run(main)
