"""Replies of a small language model: a batch of prompts, keys and values in a fixed cache."""
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

WORDS, WIDTH, HEADS, DEPTH, BATCH, PROMPT, LENGTH = 4000, 256, 8, 4, 16, 64, 96


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.register_buffer("cache", torch.zeros(2, BATCH, HEADS, LENGTH, WIDTH // HEADS), persistent=False)

    def forward(self, x, at):
        end = at + x.shape[1]
        qkv = self.qkv(self.norm1(x)).view(BATCH, -1, 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        self.cache[0, :, :, at:end], self.cache[1, :, :, at:end] = k, v
        known = self.cache[:, :, :, :end]
        y = F.scaled_dot_product_attention(q, known[0], known[1], is_causal=x.shape[1] > 1)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(DEPTH)])
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens, at):
        x = self.embed(tokens) + self.places.weight[at : at + tokens.shape[1]]
        for block in self.blocks:
            x = block(x, at)
        return self.head(x[:, -1])


@torch.inference_mode()
def main(clock):
    clock.plan(5, 6)
    torch.manual_seed(0)
    model = Model().eval()
    tokens, at = torch.randint(WORDS, (BATCH, PROMPT)), 0
    replies = []
    for step in clock.loop():
        with clock.mark(step, "token"):
            logits = model(tokens, at)
            at += tokens.shape[1]
            tokens = torch.multinomial(F.softmax(logits / 0.8, -1), 1)
            replies.append(tokens)


if __name__ == "__main__":
    run(main)
