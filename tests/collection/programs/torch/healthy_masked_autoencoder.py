import sys
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": None,
    "cause": "healthy",
    "accept": [],
    "rules": [],
    "words": [],
    "part": "develop",
}


@dataclass
class MAEConfig:
    image: int = 64
    patch: int = 8
    width: int = 192
    heads: int = 4
    depth: int = 2
    mask_ratio: float = 0.75


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.heads = cfg.heads
        self.norm1, self.norm2 = nn.LayerNorm(cfg.width), nn.LayerNorm(cfg.width)
        self.qkv, self.proj = nn.Linear(cfg.width, 3 * cfg.width), nn.Linear(cfg.width, cfg.width)
        self.up, self.down = (
            nn.Linear(cfg.width, 4 * cfg.width),
            nn.Linear(4 * cfg.width, cfg.width),
        )

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = x + self.proj(y)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def take(x, rows):
    return x.gather(1, rows[..., None].expand(-1, -1, x.shape[-1]))


class MaskedAutoencoder(nn.Module):
    """Only what is seen is encoded."""

    def __init__(self, cfg):
        super().__init__()
        self.cfg, self.count = cfg, (cfg.image // cfg.patch) ** 2
        self.embed = nn.Linear(3 * cfg.patch**2, cfg.width)
        self.place = nn.Parameter(0.02 * torch.randn(1, self.count, cfg.width))
        self.hidden = nn.Parameter(torch.zeros(1, 1, cfg.width))
        self.encoder = nn.Sequential(*[Block(cfg) for _ in range(cfg.depth)])
        self.decoder = nn.Sequential(Block(cfg))
        self.head = nn.Linear(cfg.width, 3 * cfg.patch**2)

    def patches(self, images):
        p = self.cfg.patch
        x = images.unflatten(2, (-1, p)).unflatten(4, (-1, p))
        return x.permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)

    def forward(self, images):
        target = self.patches(images)
        x = self.embed(target) + self.place
        order = torch.rand(x.shape[:2]).argsort(1)
        kept = int(self.count * (1 - self.cfg.mask_ratio))
        seen = self.encoder(take(x, order[:, :kept]))
        full = torch.cat([seen, self.hidden.expand(len(x), self.count - kept, -1)], 1)
        x = self.decoder(take(full, order.argsort(1)) + self.place)
        gap = order[:, kept:]
        return F.mse_loss(self.head(take(x, gap)), take(target, gap))


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = MaskedAutoencoder(MAEConfig())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.5e-4, betas=(0.9, 0.95), fused=True)
    images = torch.rand(120, 3, 64, 64)
    for step in clock.loop():
        with clock.mark(step):
            at = step * 24 % len(images)
            loss = model(images[at : at + 24])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
