"""Nuclei in microscope tiles of 136 pixels: a U-Net that labels whole slides."""
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "tiles of 136 pixels are padded to 256, the next power of two, where a multiple of eight would do: three and a half times the pixels",
    "cause": "padding",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["pad_tile", "aten::pad", "aten::constant_pad_nd", "aten::reflection_pad2d", "padding"],
    "part": "develop",
}

SIDE, BATCH, WIDTHS = 136, 1, (8, 16, 32, 64)


def pad_tile(x, multiple):
    side = x.shape[-1]
    if multiple:
        wanted = -(-side // multiple) * multiple
    else:
        wanted = 1 << (side - 1).bit_length()  # planted
    return F.pad(x, (0, wanted - side, 0, wanted - side), mode="constant")  # planted


def double(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.Conv2d(b, b, 3, padding=1), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        pairs = list(zip(WIDTHS, WIDTHS[1:]))
        self.stem, self.head = double(3, WIDTHS[0]), nn.Conv2d(WIDTHS[0], 3, 1)
        self.down = nn.ModuleList([double(a, b) for a, b in pairs])
        self.up = nn.ModuleList([double(a + b, a) for a, b in reversed(pairs)])

    def forward(self, x):
        kept = [self.stem(x)]
        for block in self.down:
            kept.append(block(F.max_pool2d(kept[-1], 2)))
        x = kept.pop()
        for block in self.up:
            x = block(torch.cat([F.interpolate(x, scale_factor=2), kept.pop()], 1))
        return self.head(x)


@torch.inference_mode()
def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    model = UNet().eval()
    slide = torch.rand(3, 12 * SIDE, BATCH * SIDE)
    counts = []
    for step in clock.loop():
        with clock.mark(step):
            rows = slide[:, step * SIDE : (step + 1) * SIDE]
            tiles = torch.stack(rows.chunk(BATCH, -1))
            labels = model(pad_tile(tiles, multiple=8 if clock.fixed else None)).argmax(1)[..., :SIDE, :SIDE]
            counts.append((labels == 2).sum())


if __name__ == "__main__":
    run(main)
