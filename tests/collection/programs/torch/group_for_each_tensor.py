"""Fine-tuning a vision transformer with learning rates that decay from layer to layer."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each parameter is a group of the optimizer by itself, so that AdamW updates 64 tensors one after the other, where those of a layer share rate and decay",
    "cause": "too many small pieces",
    "accept": ["largest-part", "optimizer-per-variable", "tiny-ops", "tiny-kernels", "eager-execution", "launch-bound", "python-bound"],
    "rules": ["optimizer-per-variable", "tiny-ops", "tiny-kernels", "eager-execution", "launch-bound", "python-bound"],
    "words": ["AdamW", "Adam", "layer_decay", "param_groups", "_multi_tensor_adam", "Optimizer.step#AdamW.step"],
    "part": "develop",
}

WIDTH, DEPTH, PATCHES = 64, 5, 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class ViT(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.patches = nn.Linear(48, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.head = nn.Linear(WIDTH, classes)

    def forward(self, x):
        x = self.patches(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


def depth_of(name):
    if name.startswith("blocks."):
        return int(name.split(".")[1]) + 1
    return 0 if name.startswith("patches") else DEPTH + 1


def layer_decay(model, rate, decay, together):
    groups = {}
    for name, parameter in model.named_parameters():
        depth, is_decayed = depth_of(name), parameter.ndim > 1
        key = (depth // 3, is_decayed) if together else name
        group = {"lr": rate * decay ** (DEPTH + 1 - depth), "weight_decay": 0.05 * is_decayed, "params": []}
        groups.setdefault(key, group)["params"].append(parameter)
    return list(groups.values())


def main(clock):
    clock.plan(3, 2)
    torch.manual_seed(0)
    model = ViT()
    optimizer = torch.optim.AdamW(layer_decay(model, 1e-3, 0.75, together=clock.fixed), foreach=True)  # planted
    images, labels = torch.randn(4, PATCHES, 48), torch.randint(0, 10, (4,))
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()  # planted


if __name__ == "__main__":
    run(main)
