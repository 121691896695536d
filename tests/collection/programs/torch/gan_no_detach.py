import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the discriminator's loss goes back through the generator: the fakes are not detached",
    "cause": "needless backward",
    "accept": ["repeated-gradients"],
    "rules": ["repeated-gradients"],
    "words": ["discriminator_step"],
    "part": "develop",
}

criterion = nn.BCEWithLogitsLoss()


def generator():
    return nn.Sequential(
        nn.ConvTranspose2d(64, 64, 4, 1, 0), nn.BatchNorm2d(64), nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.ConvTranspose2d(16, 1, 4, 2, 1), nn.Tanh(),
    )


def discriminator():
    return nn.Sequential(
        nn.Conv2d(1, 16, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Conv2d(16, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(32 * 64, 1),
    )


def discriminator_step(net, optimizer, real, fake):
    optimizer.zero_grad()
    ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
    loss = criterion(net(real), ones) + criterion(net(fake), zeros)
    loss.backward(retain_graph=True)  # planted
    optimizer.step()
    return loss


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    g, d = generator(), discriminator()
    opt_g = torch.optim.Adam(g.parameters(), lr=2e-4)
    opt_d = torch.optim.Adam(d.parameters(), lr=2e-4)
    real = torch.randn(64, 1, 32, 32)
    for step in clock.loop():
        with clock.mark(step, "iteration"):
            fake = g(torch.randn(64, 64, 1, 1))
            discriminator_step(d, opt_d, real, fake.detach() if clock.fixed else fake)
            opt_g.zero_grad()
            loss_g = criterion(d(fake), torch.ones(64, 1))
            loss_g.backward()
            opt_g.step()


if __name__ == "__main__":
    run(main)
