"""Latent diffusion: DDIM in a small latent space, with a progress callback."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a callback decodes the latents with the whole decoder after each step of the sampler, for a preview of 64 pixels",
    "cause": "work for display in each step",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["on_step", "Preview", "Decoder", "aten::upsample_nearest2d"],
    "part": "develop",
}


class Denoiser(nn.Module):
    def __init__(self, channels=4, width=96, depth=4):
        super().__init__()
        self.stem = nn.Conv2d(channels + 1, width, 3, padding=1)
        self.body = nn.ModuleList([nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1)) for _ in range(depth)])
        self.out = nn.Conv2d(width, channels, 3, padding=1)

    def forward(self, z, alpha):
        z = torch.cat([z, alpha.expand(len(z), 1, *z.shape[-2:])], 1)
        x = self.stem(z)
        for block in self.body:
            x = x + block(x)
        return self.out(x)


class Decoder(nn.Module):
    def __init__(self, channels=4, widths=(64, 32, 16)):
        super().__init__()
        sizes = [channels, *widths]
        self.convs = nn.ModuleList([nn.Conv2d(a, b, 3, padding=1) for a, b in zip(sizes, widths)])
        self.out = nn.Conv2d(widths[-1], 3, 3, padding=1)

    def forward(self, z):
        for conv in self.convs:
            z = F.interpolate(F.silu(conv(z)), scale_factor=2.0)
        return self.out(z).sigmoid()


class Preview:
    """Small pictures of what is to come."""

    def __init__(self, decoder):
        self.decoder, self.frames = decoder, []

    def on_step(self, clean):
        picture = self.decoder(clean)  # planted
        self.frames.append((F.interpolate(picture, (64, 64), mode="area") * 255).byte())  # planted


class RoughPreview(Preview):
    """A fixed linear map from latents to colours."""

    def __init__(self, decoder):
        super().__init__(decoder)
        self.colours = torch.randn(3, 4, 1, 1) * 0.3

    def on_step(self, clean):
        picture = F.conv2d(clean, self.colours).sigmoid()
        self.frames.append((F.interpolate(picture, (64, 64)) * 255).byte())


@torch.inference_mode()
def sample(clock, denoiser, preview, batch=2, size=24):
    alphas = torch.cos(torch.linspace(1.5, 0.02, 21)) ** 2
    z = torch.randn(batch, 4, size, size)
    for step in clock.loop():
        with clock.mark(step):
            a, following = alphas[step], alphas[step + 1]
            noise = denoiser(z, a)
            clean = (z - (1 - a).sqrt() * noise) / a.sqrt()
            z = following.sqrt() * clean + (1 - following).sqrt() * noise
            preview.on_step(clean)
    return z


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    denoiser, decoder = Denoiser().eval(), Decoder().eval()
    preview = RoughPreview(decoder) if clock.fixed else Preview(decoder)
    picture = sample(clock, denoiser, preview)
    assert picture.isfinite().all()


if __name__ == "__main__":
    run(main)
