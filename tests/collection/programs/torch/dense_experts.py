import sys
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every expert of a mixture computes every token, and the gate multiplies nearly all of it by zero",
    "cause": "results computed and thrown away",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["run_experts", "SparseMoE", "Expert"],
    "part": "develop",
}


@dataclass
class MoEConfig:
    width: int = 128
    hidden: int = 256
    experts: int = 8
    top_k: int = 1
    vocab: int = 256
    block: int = 64
    batch: int = 12


class Expert(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.up, self.down = nn.Linear(cfg.width, cfg.hidden), nn.Linear(cfg.hidden, cfg.width)

    def forward(self, x):
        return self.down(F.silu(self.up(x)))


class SparseMoE(nn.Module):
    def __init__(self, cfg, only_routed):
        super().__init__()
        self.gate = nn.Linear(cfg.width, cfg.experts, bias=False)
        self.experts = nn.ModuleList(Expert(cfg) for _ in range(cfg.experts))
        self.top_k, self.only_routed = cfg.top_k, only_routed

    def run_experts(self, x, weights):
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            out = out + weights[..., i : i + 1] * expert(x)  # planted
        return out

    def run_routed(self, x, weights):
        flat, gates = x.flatten(0, 1), weights.flatten(0, 1)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            rows = gates[:, i].nonzero()[:, 0]
            out = out.index_add(0, rows, gates[rows, i, None] * expert(flat[rows]))
        return out.view_as(x)

    def forward(self, x):
        logits = self.gate(x)
        top, chosen = logits.topk(self.top_k, dim=-1)
        weights = torch.full_like(logits, float("-inf")).scatter(-1, chosen, top).softmax(-1)
        return (self.run_routed if self.only_routed else self.run_experts)(x, weights)


class Layer(nn.Module):
    def __init__(self, cfg, only_routed):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(cfg.width), nn.LayerNorm(cfg.width)
        self.mix = nn.MultiheadAttention(cfg.width, 4, batch_first=True)
        causal = torch.ones(cfg.block, cfg.block, dtype=torch.bool).triu(1)
        self.register_buffer("causal", causal)
        self.moe = SparseMoE(cfg, only_routed)

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.mix(y, y, y, need_weights=False, attn_mask=self.causal)[0]
        return x + self.moe(self.norm2(x))


class LanguageModel(nn.Module):
    def __init__(self, cfg, only_routed):
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.width)
        self.layers = nn.Sequential(Layer(cfg, only_routed))
        self.head = nn.Linear(cfg.width, cfg.vocab)

    def forward(self, tokens):
        return self.head(self.layers(self.embed(tokens)))


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    cfg = MoEConfig()
    model = LanguageModel(cfg, only_routed=clock.fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    corpus = torch.randint(0, cfg.vocab, (20_000,))
    for step in clock.loop():
        with clock.mark(step):
            starts = torch.randint(0, len(corpus) - cfg.block - 1, (cfg.batch, 1))
            chunk = corpus[starts + torch.arange(cfg.block + 1)]
            logits = model(chunk[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), chunk[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
