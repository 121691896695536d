import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


class Denoiser(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.time = nn.Embedding(200, width)
        self.a = nn.Conv2d(1, width, 3, padding=1)
        self.b = nn.Conv2d(width, width, 3, padding=1)
        self.c = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x, t):
        x = torch.relu(self.a(x) + self.time(t)[:, :, None, None])
        return self.c(torch.relu(self.b(x)))


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    alphas_bar = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 200), 0)
    model = Denoiser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    images = torch.rand(64, 1, 28, 28)
    for step in clock.loop():
        with clock.mark(step):
            t = torch.randint(0, 200, (64,))
            noise = torch.randn_like(images)
            a = alphas_bar[t][:, None, None, None]
            loss = nn.functional.mse_loss(model(a.sqrt() * images + (1 - a).sqrt() * noise, t), noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
