import math
import sys
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each layer of an encoder computes buckets and bias of all relative positions again, and again backward",
    "cause": "the same computed again in each layer",
    "accept": ["largest-part"],
    "rules": [],
    "words": [
        "RelativeBias",
        "relative_position_bucket",
        "compute_bias",
        "aten::embedding_dense_backward",
        "EmbeddingBackward0",
    ],
    "part": "develop",
}


@dataclass
class T5Config:
    vocab_size: int = 2000
    d_model: int = 64
    d_ff: int = 128
    num_heads: int = 4
    num_layers: int = 3
    num_buckets: int = 32
    max_distance: int = 128
    dropout: float = 0.0
    share_bias: bool = False


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


class RelativeBias(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.table = nn.Embedding(cfg.num_buckets, cfg.num_heads)

    def relative_position_bucket(self, distance):
        half = self.cfg.num_buckets // 2
        side = (distance > 0).long() * half
        distance = distance.abs()
        exact = half // 2
        far = torch.log(distance.float().clamp(min=1) / exact)
        far = far / math.log(self.cfg.max_distance / exact) * (half - exact)
        far = (exact + far).long().clamp(max=half - 1)
        return side + torch.where(distance < exact, distance, far)

    def compute_bias(self, length):
        at = torch.arange(length)
        buckets = self.relative_position_bucket(at[None, :] - at[:, None])
        return self.table(buckets).permute(2, 0, 1).unsqueeze(0)  # planted


class SelfAttention(nn.Module):
    def __init__(self, cfg, bias):
        super().__init__()
        self.heads, self.width = cfg.num_heads, cfg.d_model // cfg.num_heads
        self.qkv = nn.Linear(cfg.d_model, 3 * cfg.d_model, bias=False)
        self.out = nn.Linear(cfg.d_model, cfg.d_model, bias=False)
        self.relative = bias

    def forward(self, x, bias=None):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.width).permute(2, 0, 3, 1, 4)
        if bias is None:
            bias = self.relative.compute_bias(t)
        scores = (q @ k.transpose(-1, -2)) + bias
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, -1)), bias


class EncoderLayer(nn.Module):
    def __init__(self, cfg, bias):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(cfg.d_model), RMSNorm(cfg.d_model)
        self.attention = SelfAttention(cfg, bias)
        self.wi = nn.Linear(cfg.d_model, cfg.d_ff, bias=False)
        self.wo = nn.Linear(cfg.d_ff, cfg.d_model, bias=False)

    def forward(self, x, bias):
        y, bias = self.attention(self.norm1(x), bias)
        x = x + y
        return x + self.wo(F.relu(self.wi(self.norm2(x)))), bias


class T5Encoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.embed = nn.Embedding(cfg.vocab_size, cfg.d_model)
        bias = RelativeBias(cfg)
        self.layers = nn.ModuleList(EncoderLayer(cfg, bias) for _ in range(cfg.num_layers))
        self.norm = RMSNorm(cfg.d_model)
        self.head = nn.Linear(cfg.d_model, 3)

    def forward(self, ids):
        x, bias = self.embed(ids), None
        for layer in self.layers:
            x, made = layer(x, bias)
            bias = made if self.cfg.share_bias else None
        return self.head(self.norm(x).mean(1))


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    cfg = T5Config(share_bias=clock.fixed)
    model = T5Encoder(cfg)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    ids = torch.randint(0, cfg.vocab_size, (64, 320))
    labels = torch.randint(0, 3, (64,))
    for step in clock.loop():
        with clock.mark(step):
            rows = torch.randint(0, len(ids), (2,))
            loss = F.cross_entropy(model(ids[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
