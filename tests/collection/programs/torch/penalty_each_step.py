"""A GAN for small textures with R1 regularisation."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the R1 penalty, a gradient of a gradient of the discriminator, is computed in each step, not each sixteenth as StyleGAN2 does",
    "cause": "work done too often",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["r1_penalty", "ConvolutionBackward0Backward0", "ConvolutionBackwardBackward0", "aten::_convolution_double_backward"],
    "part": "develop",
}

SIZE, LATENT, BATCH, WIDTH = 32, 64, 8, 24


def generator():
    return nn.Sequential(
        nn.Linear(LATENT, 4 * WIDTH * 16),
        nn.Unflatten(1, (4 * WIDTH, 4, 4)),
        nn.ReLU(),
        nn.ConvTranspose2d(4 * WIDTH, 2 * WIDTH, 4, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(2 * WIDTH, WIDTH, 4, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(WIDTH, 3, 4, 2, 1),
        nn.Tanh(),
    )


def discriminator():
    return nn.Sequential(
        nn.Conv2d(3, WIDTH, 3, 1, 1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(WIDTH, 2 * WIDTH, 4, 2, 1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(2 * WIDTH, 4 * WIDTH, 4, 2, 1),
        nn.LeakyReLU(0.2),
        nn.Flatten(),
        nn.Linear(4 * WIDTH * 64, 1),
    )


def r1_penalty(d, real, gamma):
    real = real.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(d(real).sum(), real, create_graph=True)  # planted
    return gamma / 2 * gradient.square().sum((1, 2, 3)).mean()  # planted


class Loop:
    def __init__(self, every, gamma=1.0):
        self.g, self.d = generator(), discriminator()
        self.opt_g = torch.optim.Adam(self.g.parameters(), 2e-4, (0.0, 0.99), fused=True)
        self.opt_d = torch.optim.Adam(self.d.parameters(), 2e-4, (0.0, 0.99), fused=True)
        self.every, self.gamma = every, gamma

    def step(self, number, real):
        fake = self.g(torch.randn(len(real), LATENT))
        loss = F.softplus(self.d(fake.detach())).mean() + F.softplus(-self.d(real)).mean()
        self.opt_d.zero_grad()
        loss.backward()
        if number % self.every == 0:
            (self.every * r1_penalty(self.d, real, self.gamma)).backward()  # planted
        self.opt_d.step()

        self.d.requires_grad_(False)
        loss = F.softplus(-self.d(fake)).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.d.requires_grad_(True)
        self.opt_g.step()


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    loop = Loop(every=16 if clock.fixed else 1)
    textures = torch.rand(16, BATCH, 3, SIZE, SIZE) * 2 - 1
    for step in clock.loop():
        with clock.mark(step):
            loop.step(step, textures[step])


if __name__ == "__main__":
    run(main)
