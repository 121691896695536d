import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the processor that forbids repeated n-grams builds all n-grams of every hypothesis again for each token",
    "cause": "Python between the tokens of a generation",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["NoRepeat", "banned"],
    "repeats": 16,
    "part": "develop",
}


class LanguageModel(nn.Module):
    def __init__(self, vocabulary=2000, width=256):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.cell = nn.GRUCell(width, width)
        self.out = nn.Linear(width, vocabulary)

    def forward(self, token, state):
        state = self.cell(self.embed(token), state)
        return self.out(state), state


class NoRepeat:
    def __init__(self, n):
        self.n = n

    def banned(self, tokens):
        table = {}
        for i in range(len(tokens) - self.n + 1):
            gram = tuple(tokens[i : i + self.n])  # planted
            table.setdefault(gram[:-1], set()).add(gram[-1])  # planted
        return table.get(tuple(tokens[len(tokens) - self.n + 1 :]), ())

    def __call__(self, ids, logits):
        for row, tokens in enumerate(ids.tolist()):
            for token in self.banned(tokens):
                logits[row, token] = -float("inf")
        return logits


class NoRepeatFast(NoRepeat):
    """Looks only for the last n - 1 tokens."""

    def __call__(self, ids, logits):
        windows = ids.unfold(1, self.n, 1)
        same = (windows[:, :, :-1] == ids[:, None, 1 - self.n :]).all(-1)
        rows, at = same.nonzero(as_tuple=True)
        logits[rows, windows[rows, at, -1]] = -float("inf")
        return logits


@torch.no_grad()
def generate(model, prompt, processor, tokens):
    ids, state = prompt, torch.zeros(len(prompt), 256)
    token = prompt[:, -1]
    for _ in range(tokens):
        logits, state = model(token, state)
        logits = processor(ids, logits)
        token = torch.multinomial(torch.softmax(logits / 0.8, -1), 1)[:, 0]
        ids = torch.cat([ids, token[:, None]], 1)
    return ids


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    model = LanguageModel().eval()
    processor = (NoRepeatFast if clock.fixed else NoRepeat)(3)
    for step in clock.loop():
        with clock.mark(step, "generate"):
            prompt = torch.randint(0, 2000, (16, 200))
            generate(model, prompt, processor, 16)


if __name__ == "__main__":
    run(main)
