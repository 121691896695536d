"""Noise prediction on stored latents, with a moving average of the weights."""
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
BATCH, SIZE, WIDTHS = (128, 64, (128, 256)) if BIG else (2, 16, (8, 16))


class Unit(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, a), nn.Conv2d(a, b, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(8, b), nn.Conv2d(b, b, 3, padding=1)
        self.time = nn.Linear(64, b)
        self.skip = nn.Identity() if a == b else nn.Conv2d(a, b, 1)

    def forward(self, x, t):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(t)[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(y)))


class Noise(nn.Module):
    def __init__(self):
        super().__init__()
        a, b = WIDTHS
        self.first, self.last = nn.Conv2d(4, a, 3, padding=1), nn.Conv2d(a, 4, 3, padding=1)
        self.time = nn.Sequential(nn.Embedding(1000, 64), nn.SiLU())
        self.high, self.low, self.lower, self.back = Unit(a, a), Unit(a, b), Unit(b, b), Unit(a + b, a)

    def forward(self, x, t):
        t = self.time(t)
        high = self.high(self.first(x), t)
        low = self.lower(self.low(F.avg_pool2d(high, 2), t), t)
        return self.last(self.back(torch.cat([high, F.interpolate(low, scale_factor=2)], 1), t))


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    model = Noise().to(DEVICE, memory_format=torch.channels_last)
    weights = list(model.parameters())
    average = [weight.detach().clone() for weight in weights]
    optimizer = torch.optim.AdamW(weights, lr=1e-4, fused=True)
    latents = torch.randn(4 * BATCH, 4, SIZE, SIZE, device=DEVICE).to(memory_format=torch.channels_last)
    bars = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000, device=DEVICE), 0)
    for step in clock.loop():
        with clock.mark(step):
            x = latents[step % 4 * BATCH : (step % 4 + 1) * BATCH]
            t = torch.randint(1000, (BATCH,), device=DEVICE)
            noise, bar = torch.randn_like(x), bars[t][:, None, None, None]
            with torch.autocast(DEVICE, torch.bfloat16):
                made = model(bar.sqrt() * x + (1 - bar).sqrt() * noise, t)
            loss = F.mse_loss(made.float(), noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            torch._foreach_lerp_(average, [weight.detach() for weight in weights], 1e-4)

if __name__ == "__main__":
    run(main)
