import math
import sys
from pathlib import Path

import torch
from torch import nn
from transformers import GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2Block

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the adapters' two factors are multiplied into a dense matrix before they see the input",
    "cause": "order of a product",
    "accept": [],
    "rules": [],
    "words": ["LowRank", "low_rank"],
    "part": "develop",
}


def low_rank(x, down, up, is_fixed):
    if is_fixed:
        return (x @ down) @ up
    change = down @ up  # planted
    return x @ change  # planted


class LowRank(nn.Module):
    def __init__(self, base, is_fixed, rank=4):
        super().__init__()
        self.base, self.is_fixed = base, is_fixed
        rows, columns = base.weight.shape
        self.down = nn.Parameter(torch.randn(rows, rank) / math.sqrt(rows))
        self.up = nn.Parameter(torch.zeros(rank, columns))

    def forward(self, x):
        return self.base(x) + low_rank(x, self.down, self.up, self.is_fixed)


def adapt(block, is_fixed):
    block.requires_grad_(False)
    block.attn.c_attn = LowRank(block.attn.c_attn, is_fixed)
    block.mlp.c_fc = LowRank(block.mlp.c_fc, is_fixed)
    block.mlp.c_proj = LowRank(block.mlp.c_proj, is_fixed)
    return block


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    config = GPT2Config(n_embd=512, n_head=8, attn_implementation="eager")
    block = adapt(GPT2Block(config, layer_idx=0), clock.fixed)
    trained = [parameter for parameter in block.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4)
    for step in clock.loop():
        with clock.mark(step):
            hidden = torch.randn(2, 48, 512)
            out = block(hidden)
            out = out[0] if isinstance(out, tuple) else out
            loss = (out - hidden.roll(-1, 1)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
