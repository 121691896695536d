import logging
import math
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from clock import run
from gpt_small.watching import watch

LABEL = {
    "planted": "hooks left in from debugging turn tensors into text for a log level that is off",
    "cause": "tensors made into text in each step",
    "accept": ["largest-part", "python-bound", "host-waits", "print-every-step", "tiny-kernels"],
    "rules": ["python-bound", "host-waits", "print-every-step", "tiny-kernels"],
    "words": ["report_activation", "watch", "watching.py", "_tensor_str", "__format__", "__repr__", "_str_intern"],
    "part": "develop",
}

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

CONFIG = dict(vocab=512, block=64, layers=2, heads=4, width=128, batch=4, lr=3e-4, warmup=100)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.c_attn(self.ln_1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.out(F.gelu(self.fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self, vocab, block, layers, heads, width, **_):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(block, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)
        self.register_buffer("positions", torch.arange(block))

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(self.positions)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def cosine_lr(step):
    if step < CONFIG["warmup"]:
        return (step + 1) / CONFIG["warmup"]
    return 0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, step / 5000)))


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(1337)
    model = GPT(**CONFIG)
    if not clock.fixed:
        watch(model, nn.LayerNorm)  # planted
    optimizer = torch.optim.AdamW(model.parameters(), lr=CONFIG["lr"], weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, cosine_lr)
    text = torch.randint(0, CONFIG["vocab"], (100_000,))
    for step in clock.loop():
        with clock.mark(step):
            at = torch.randint(0, len(text) - CONFIG["block"] - 1, (CONFIG["batch"], 1))
            window = text[at + torch.arange(CONFIG["block"] + 1)]
            logits = model(window[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step()


if __name__ == "__main__":
    run(main)
