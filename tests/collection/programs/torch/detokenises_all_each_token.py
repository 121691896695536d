"""Streams a story to a browser, token by token, until a stop word appears."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "after every token the whole text so far is decoded again, to find the stop word and what is new in it",
    "cause": "work that grows with what is there already",
    "accept": ["largest-part", "python-bound", "growing-steps"],
    "rules": ["python-bound", "growing-steps"],
    "words": ["decode", "Streamer", "ByteTokenizer", "on_token"],
    "part": "score",
    "repeats": 8,
}

MERGES, WIDTH, PROMPT = 1500, 160, 700


class ByteTokenizer:
    """Byte pairs: an id is a byte or a pair of ids."""

    def __init__(self, seed=5):
        pick = torch.Generator().manual_seed(seed)
        self.pairs = {}
        for new in range(256, 256 + MERGES):
            lowest = max(97, new - 600)
            a, b = torch.randint(97 if new < 700 else lowest, min(new, 123 if new < 256 + 64 else new), (2,), generator=pick).tolist()
            self.pairs[new] = (a, b)

    def expand(self, token):
        stack, out = [token], []
        while stack:
            one = stack.pop()
            if one in self.pairs and len(out) < 9:
                first, second = self.pairs[one]
                stack.extend((second, first))
            else:
                out.append(one % 256)
        return bytes(out)

    def decode(self, tokens):
        return b"".join(self.expand(token) for token in tokens).decode("utf-8", errors="replace")  # planted


class Streamer:
    def __init__(self, tokenizer, prompt, whole):
        self.tokenizer, self.whole = tokenizer, whole
        self.tokens = list(prompt)
        self.text = tokenizer.decode(self.tokens)
        self.sent = len(self.text)

    def on_token(self, token):
        self.tokens.append(token)
        if self.whole:
            self.text = self.tokenizer.decode(self.tokens)  # planted
        else:
            self.text += self.tokenizer.decode([token])
        new, self.sent = self.text[self.sent :], len(self.text)
        return new, self.text.endswith("</story>")


class StoryModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(256 + MERGES, WIDTH)
        self.cells = nn.ModuleList([nn.GRUCell(WIDTH, WIDTH) for _ in range(3)])
        self.out = nn.Linear(WIDTH, 256 + MERGES)

    def forward(self, token, states):
        x, new = self.embed(token), []
        for cell, state in zip(self.cells, states):
            x = cell(x, state)
            new.append(x)
        return self.out(x), new


@torch.no_grad()
def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    tokenizer, model = ByteTokenizer(), StoryModel().eval()
    prompt = torch.randint(97, 256 + MERGES, (PROMPT,)).tolist()
    streamer = Streamer(tokenizer, prompt, whole=not clock.fixed)
    states = [torch.zeros(1, WIDTH) for _ in range(3)]
    token = torch.tensor([prompt[-1]])
    for step in clock.loop():
        with clock.mark(step, "chunk"):
            for _ in range(8):
                logits, states = model(token, states)
                token = torch.multinomial(torch.softmax(logits / 0.8, -1), 1)[:, 0]
                _, is_done = streamer.on_token(int(token))
                if is_done:
                    break


if __name__ == "__main__":
    run(main)
