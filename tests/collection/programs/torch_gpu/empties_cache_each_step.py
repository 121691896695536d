import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "torch.cuda.empty_cache() after every step gives all memory back, and the next step must ask the driver for it again",
    "cause": "memory that is given back and asked for again",
    "accept": ["largest-part", "host-waits", "idle-device", "python-bound", "allocation-stalls"],
    "rules": ["host-waits", "idle-device", "allocation-stalls"],
    "words": ["empty_cache", "cudaFree", "cudaMalloc", "release_memory"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, SIZE, WIDTHS = (16, 256, (32, 64, 128)) if BIG else (2, 32, (4, 8, 8))


def two(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(4, b), nn.SiLU(), nn.Conv2d(b, b, 3, padding=1), nn.GroupNorm(4, b), nn.SiLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        a, b, c = WIDTHS
        self.down1, self.down2, self.low = two(4, a), two(a, b), two(b, c)
        self.up2, self.up1, self.head = two(b + c, b), two(a + b, a), nn.Conv2d(a, 3, 1)

    def forward(self, x):
        one = self.down1(x)
        two_ = self.down2(F.max_pool2d(one, 2))
        low = self.low(F.max_pool2d(two_, 2))
        two_ = self.up2(torch.cat([two_, F.interpolate(low, scale_factor=2)], 1))
        return self.head(self.up1(torch.cat([one, F.interpolate(two_, scale_factor=2)], 1)))


class Trainer:
    def __init__(self, careful):
        self.model = UNet().to(DEVICE, memory_format=torch.channels_last)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, fused=True)
        self.careful = careful

    def release_memory(self):
        if self.careful:
            torch.cuda.empty_cache()  # planted

    def step(self, tiles, masks):
        with torch.autocast(DEVICE, torch.bfloat16):
            loss = F.cross_entropy(self.model(tiles), masks)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.release_memory()
        return loss.detach()


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    trainer = Trainer(careful=not clock.fixed)
    tiles = torch.rand(4 * BATCH, 4, SIZE, SIZE, device=DEVICE).to(memory_format=torch.channels_last)
    masks = torch.randint(3, (4, BATCH, SIZE, SIZE), device=DEVICE)
    for step in clock.loop():
        with clock.mark(step):
            at = step % 4
            trainer.step(tiles[at * BATCH : (at + 1) * BATCH], masks[at])

if __name__ == "__main__":
    run(main)
