import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "images are noised one time step after the other instead of in closed form",
    "cause": "an algorithm that does more than it must",
    "accept": ["tiny-ops"],
    "rules": ["tiny-ops"],
    "words": ["q_sample"],
    "part": "develop",
}

betas = torch.linspace(1e-4, 0.02, 200)
alphas_bar = torch.cumprod(1 - betas, 0)


def q_sample(x, t):
    for s in range(int(t.max())):
        noised = (1 - betas[s]).sqrt() * x + betas[s].sqrt() * torch.randn_like(x)  # planted
        x = torch.where((s < t)[:, None, None, None], noised, x)  # planted
    return x


def q_sample_closed(x, t):
    a = alphas_bar[t][:, None, None, None]
    return a.sqrt() * x + (1 - a).sqrt() * torch.randn_like(x)


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
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = Denoiser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    images = torch.rand(32, 1, 28, 28)
    for step in clock.loop():
        with clock.mark(step):
            t = torch.randint(0, 199, (32,))
            t = t // 4
            t[0] = 50
            x = q_sample_closed(images, t) if clock.fixed else q_sample(images, t)
            loss = nn.functional.mse_loss(model(x, t), images)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
