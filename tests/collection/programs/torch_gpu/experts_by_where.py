"""A language model with a mixture of experts in every layer."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every expert asks with torch.where for its tokens: the host waits for the device once for each of eight experts in each layer, and starts their small kernels one after the other",
    "cause": "the host waits for the device",
    "accept": ["largest-part", "host-waits", "launch-bound", "tiny-kernels", "idle-device"],
    "rules": ["host-waits", "launch-bound", "tiny-kernels"],
    "words": ["Experts", "aten::where", "aten::nonzero", "aten::index_add_", "aten::nonzero_numpy"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
WIDTH, HIDDEN, EXPERTS, LAYERS = (512, 1024, 8, 2) if BIG else (32, 64, 4, 2)
BATCH, LENGTH, VOCAB = (16, 256, 8192) if BIG else (2, 16, 100)


class Experts(nn.Module):
    def __init__(self, at_once):
        super().__init__()
        self.at_once = at_once
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up = nn.Parameter(torch.randn(EXPERTS, WIDTH, HIDDEN) * WIDTH**-0.5)
        self.down = nn.Parameter(torch.randn(EXPERTS, HIDDEN, WIDTH) * HIDDEN**-0.5)

    def forward(self, x):
        tokens = x.flatten(0, 1)
        weight, chosen = self.gate(tokens).float().softmax(-1).topk(2)
        mix = self.sorted_tokens if self.at_once else self.one_by_one
        return mix(tokens, weight, chosen).view_as(x)

    def one_by_one(self, tokens, weight, chosen):
        out = torch.zeros_like(tokens)
        for number, (up, down) in enumerate(zip(self.up.unbind(), self.down.unbind())):
            rows, slot = torch.where(chosen == number)  # planted
            if len(rows) == 0:
                continue
            part = F.silu(tokens[rows] @ up) @ down  # planted
            out.index_add_(0, rows, part * weight[rows, slot, None])  # planted
        return out

    def sorted_tokens(self, tokens, weight, chosen):
        room = chosen.numel() * 3 // (2 * EXPERTS)
        expert, order = chosen.flatten().sort(stable=True)
        first = torch.searchsorted(expert, torch.arange(EXPERTS, device=expert.device))
        place = torch.arange(len(order), device=expert.device) - first[expert]
        slot = torch.where(place < room, expert * room + place, EXPERTS * room)
        rows = order // 2
        held = tokens.new_zeros(EXPERTS * room + 1, tokens.shape[1]).index_copy(0, slot, tokens.index_select(0, rows))
        inner = F.silu(torch.bmm(held[:-1].view(EXPERTS, room, -1), self.up))
        parts = F.pad(torch.bmm(inner, self.down).flatten(0, 1), (0, 0, 0, 1)).index_select(0, slot)
        return torch.zeros_like(tokens).index_add(0, rows, parts * weight.flatten().index_select(0, order)[:, None])


class Block(nn.Module):
    def __init__(self, at_once):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.experts = Experts(at_once)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, WIDTH // 32, 32)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.experts(self.norm2(x))


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        embed = nn.Embedding(VOCAB, WIDTH)
        model = nn.Sequential(embed, *[Block(clock.fixed) for _ in range(LAYERS)], nn.Linear(WIDTH, VOCAB))
        text = torch.randint(VOCAB, (8, BATCH, LENGTH + 1))
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4, fused=True)
    for step in clock.loop():
        with clock.mark(step):
            with torch.autocast(DEVICE, torch.bfloat16):
                logits = model(text[step % 8, :, :-1])
                loss = F.cross_entropy(logits.flatten(0, 1), text[step % 8, :, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    run(main)
