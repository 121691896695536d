"""Pictures from noise: a diffusion transformer's sampler."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the frozen weights are float32 and the sampler opens autocast for every call: all weights are cast to bfloat16 again for each denoising step",
    "cause": "work that is done again",
    "accept": ["largest-part", "dominant-op", "device-copies"],
    "rules": ["device-copies"],
    "words": ["denoise", "aten::to", "aten::_to_copy", "aten::copy_", "autocast", "bfloat16_copy_kernel"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, TOKENS, CHANNELS, WIDTH, LAYERS = (4, 64, 16, 2048, 5) if BIG else (2, 16, 4, 32, 2)
STEPS = 4


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, WIDTH // 32, 32)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(CHANNELS, WIDTH), nn.Linear(WIDTH, CHANNELS)
        self.time = nn.Sequential(nn.Embedding(1000, WIDTH), nn.Linear(WIDTH, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH))
        self.layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])

    def forward(self, x, t):
        return self.last(self.layers(self.first(x) + self.time(t)[:, None]))


class Sampler:
    def __init__(self, half):
        with torch.device(DEVICE):
            self.model = Denoiser().eval().requires_grad_(False)
            self.times = torch.linspace(999, 0, STEPS).long()
            self.alphas = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0)
        self.half = half
        if half:
            self.model.to(torch.bfloat16)

    def denoise(self, x, t):
        if self.half:
            return self.model(x.to(torch.bfloat16), t).float()
        with torch.autocast(DEVICE, torch.bfloat16):
            return self.model(x, t).float()  # planted

    @torch.no_grad()
    def sample(self):
        x = torch.randn(BATCH, TOKENS, CHANNELS, device=DEVICE)
        for number in range(STEPS):
            t = self.times[number].expand(BATCH)
            a = self.alphas[t][:, None, None]
            noise = self.denoise(x, t)
            clean = (x - (1 - a).sqrt() * noise) / a.sqrt()
            x = a.sqrt() * clean.clamp(-3, 3) + (1 - a).sqrt() * noise
        return x


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    sampler = Sampler(half=clock.fixed)
    for step in clock.loop():
        with clock.mark(step, "sample"):
            sampler.sample()

if __name__ == "__main__":
    run(main)
