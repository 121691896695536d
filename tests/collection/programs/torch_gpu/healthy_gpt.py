import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, LENGTH, WIDTH, LAYERS, VOCAB = (16, 1024, 768, 6, 32768) if BIG else (2, 32, 32, 2, 100)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(approximate="tanh"), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, -1, 32 if not BIG else 64)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCAB, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks, self.norm = nn.Sequential(*[Block() for _ in range(LAYERS)]), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)
        self.head.weight = self.words.weight
        nn.init.normal_(self.words.weight, std=0.02)
        self.register_buffer("at", torch.arange(LENGTH), persistent=False)

    def forward(self, ids):
        x = self.words(ids) + self.places(self.at)
        return self.head(self.norm(self.blocks(x)))


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    with torch.device(DEVICE):
        model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), fused=True)
    text = torch.randint(VOCAB, (64 * (LENGTH + 1),))
    if BIG:
        text = text.pin_memory()
    windows = text.unfold(0, LENGTH + 1, LENGTH + 1)
    losses = []
    for step in clock.loop():
        with clock.mark(step):
            first = step % 3 * BATCH
            ids = windows[first : first + BATCH].to(DEVICE, non_blocking=True)
            with torch.autocast(DEVICE, torch.bfloat16):
                loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.detach())

if __name__ == "__main__":
    run(main)
