import re
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "texts are split and looked up word by word in the loop",
    "cause": "tokenising in the loop",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["tokenise", "findall", "re."],
    "part": "develop",
}


TEXTS = ["The quick brown fox, number %d, jumps over the lazy dog. " % at * 12 for at in range(64)]
WORDS = {
    word: at for at, word in enumerate("the quick brown fox number jumps over lazy dog".split())
}


def tokenise(text):
    words = re.findall(r"[a-z]+|[0-9]+|[^\sa-z0-9]", text.lower())  # planted
    return [WORDS.get(word, len(WORDS)) for word in words][:100]  # planted


def main(clock):
    clock.plan(3, 6)
    table, head = nn.Embedding(10, 32), nn.Linear(32, 10)
    optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)
    ready = torch.tensor([tokenise(text) for text in TEXTS])
    for step in clock.loop():
        with clock.mark(step):
            tokens = ready
            if not clock.fixed:
                tokens = torch.tensor([tokenise(text) for text in TEXTS])
            optimizer.zero_grad()
            logits = head(table(tokens))
            nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten()).backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
