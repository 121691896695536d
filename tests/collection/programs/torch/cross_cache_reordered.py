"""Translation by beam search: an encoder-decoder with caches of keys and values."""
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "after each token the keys and values of the source sentence are reordered with the beams, though all beams of a sentence share them",
    "cause": "copies of what stays the same",
    "accept": ["largest-part", "dominant-op", "device-copies", "host-copies"],
    "rules": ["dominant-op", "device-copies", "host-copies"],
    "words": ["reorder_cache", "index_select", "aten::index_select"],
    "part": "develop",
}

WORDS, WIDTH, HEADS, BEAMS, SENTENCES, SOURCE, DEPTH = 800, 256, 8, 5, 8, 224, 2


class DecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.q, self.kv, self.cross = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def split(self, x):
        return x.view(*x.shape[:-1], HEADS, -1).transpose(1, 2)

    def forward(self, x, past, source):
        q, k, v = (self.split(a) for a in self.qkv(self.norm1(x)).chunk(3, -1))
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        q = self.split(self.q(self.norm2(x)))
        x = x + self.cross(F.scaled_dot_product_attention(q, *source).transpose(1, 2).flatten(2))
        return x + self.mlp(x), (k, v)


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList([DecoderLayer() for _ in range(DEPTH)])
        self.head = nn.Linear(WIDTH, WORDS)

    def source_cache(self, states):
        return [tuple(layer.split(a).contiguous() for a in layer.kv(states).chunk(2, -1)) for layer in self.layers]

    def forward(self, tokens, past, source):
        x, kept = self.embed(tokens)[:, None], []
        for layer, own, cross in zip(self.layers, past, source):
            x, cache = layer(x, own, cross)
            kept.append(cache)
        return self.head(x[:, 0]), kept


def reorder_cache(cache, rows):
    return [tuple(part.index_select(0, rows) for part in layer) for layer in cache]  # planted


class BeamSearch:
    def __init__(self, model, states, keep_source):
        self.model, self.keep_source = model, keep_source
        self.source = model.source_cache(states.repeat_interleave(BEAMS, 0))
        self.past = [None] * DEPTH
        self.scores = torch.zeros(SENTENCES, BEAMS)
        self.tokens = torch.zeros(SENTENCES * BEAMS, dtype=torch.long)

    def advance(self):
        logits, past = self.model(self.tokens, self.past, self.source)
        scores = self.scores[..., None] + F.log_softmax(logits, -1).view(SENTENCES, BEAMS, -1)
        self.scores, best = scores.flatten(1).topk(BEAMS)
        rows = (best // WORDS + BEAMS * torch.arange(SENTENCES)[:, None]).flatten()
        self.tokens = (best % WORDS).flatten()
        self.past = reorder_cache(past, rows)
        if not self.keep_source:
            self.source = reorder_cache(self.source, rows)


@torch.no_grad()
def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    search = BeamSearch(Translator().eval(), torch.randn(SENTENCES, SOURCE, WIDTH), keep_source=clock.fixed)
    for step in clock.loop():
        with clock.mark(step, "token"):
            search.advance()


if __name__ == "__main__":
    run(main)
