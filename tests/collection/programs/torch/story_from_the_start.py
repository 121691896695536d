"""Stories by a small GPT: the loop of the tutorials, which appends a token and runs the model again."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the loop runs the model on the whole text for each new token, instead of on the new token with keys and values kept",
    "cause": "work that is done again",
    "accept": ["no-kv-cache", "largest-part", "dominant-op"],
    "rules": ["no-kv-cache"],
    "words": ["write", "next_token", "aten::linear", "aten::addmm", "aten::mm"],
    "part": "develop",
}

VOCABULARY, WIDTH, HEADS, DEPTH, PROMPT, NEW = 512, 128, 4, 2, 48, 6


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, past):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.qkv(self.n1(x)).chunk(3, -1))
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=past is None)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.n2(x)))), (k, v)


class Storyteller(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens, past=None):
        x, kept = self.embed(tokens), []
        for at, block in enumerate(self.blocks):
            x, keys = block(x, past[at] if past else None)
            kept.append(keys)
        return self.head(x[:, -1]), kept


def next_token(logits):
    return logits.argmax(-1, keepdim=True)


@torch.no_grad()
def write(model, tokens, keeps):
    logits, kept = model(tokens)
    for _ in range(NEW):
        token = next_token(logits)
        tokens = torch.cat([tokens, token], 1)
        logits, kept = model(token, kept) if keeps else model(tokens)  # planted
    return tokens


def main(clock):
    clock.plan(3, 3)
    torch.manual_seed(0)
    model = Storyteller().eval()
    prompts = torch.randint(VOCABULARY, (12, 4, PROMPT))
    for step in clock.loop():
        with clock.mark(step, "story"):
            write(model, prompts[step], clock.fixed)


if __name__ == "__main__":
    run(main)
