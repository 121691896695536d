import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "attention with ALiBi writes the scores of all pairs in float32, adds the bias, masks, takes softmax and drops out, each over all of them: scaled_dot_product_attention takes the bias as a mask",
    "cause": "many passes where one would do",
    "accept": ["largest-part", "dominant-op", "unfused-ops"],
    "rules": ["unfused-ops", "dominant-op"],
    "words": ["attend", "LinearBiasAttention", "aten::softmax", "aten::_softmax", "aten::masked_fill", "SoftmaxBackward0", "aten::_softmax_backward_data"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, LENGTH, HEADS, HEAD, LAYERS, VOCAB = (8, 1024, 16, 64, 4, 16384) if BIG else (2, 32, 2, 16, 2, 100)
WIDTH = HEADS * HEAD


class LinearBiasAttention(nn.Module):
    def __init__(self, fused):
        super().__init__()
        self.fused = fused
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        slopes = 2.0 ** (-8 * torch.arange(1, HEADS + 1) / HEADS)
        at = torch.arange(LENGTH)
        distance = (at[None, :] - at[:, None]).clamp(max=0)
        self.register_buffer("alibi", slopes[:, None, None] * distance)
        self.register_buffer("future", at[None, :] > at[:, None])
        self.register_buffer("mask", self.alibi.masked_fill(self.future, -torch.inf).to(torch.bfloat16)[None])

    def attend(self, q, k, v):
        if self.fused:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=self.mask)
        scores = (q @ k.mT).float() * HEAD**-0.5  # planted
        scores = scores + self.alibi  # planted
        scores = scores.masked_fill(self.future, -10000.0)  # planted
        return scores.softmax(-1).to(v.dtype) @ v  # planted

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, HEAD)).permute(2, 0, 3, 1, 4)
        return self.out(self.attend(q, k, v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, fused):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = LinearBiasAttention(fused)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Bloomlet(nn.Module):
    def __init__(self, fused):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.layers = nn.ModuleList([Layer(fused) for _ in range(LAYERS)])
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        model = Bloomlet(fused=clock.fixed)
        corpus = torch.randint(VOCAB, (8, BATCH, LENGTH + 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, fused=True)
    for step in clock.loop():
        with clock.mark(step):
            ids = corpus[step % 8]
            with torch.autocast(DEVICE, torch.bfloat16):
                loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    run(main)
