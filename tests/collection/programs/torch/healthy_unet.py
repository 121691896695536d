import sys
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


def double_conv(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
        nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, classes=3, base=16):
        super().__init__()
        self.inc = double_conv(3, base)
        self.down1, self.down2 = double_conv(base, 2 * base), double_conv(2 * base, 4 * base)
        self.up1 = nn.ConvTranspose2d(4 * base, 2 * base, 2, stride=2)
        self.conv1 = double_conv(4 * base, 2 * base)
        self.up2 = nn.ConvTranspose2d(2 * base, base, 2, stride=2)
        self.conv2 = double_conv(2 * base, base)
        self.outc = nn.Conv2d(base, classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(F.max_pool2d(x1, 2))
        x3 = self.down2(F.max_pool2d(x2, 2))
        x = self.conv1(torch.cat([x2, self.up1(x3)], 1))
        return self.outc(self.conv2(torch.cat([x1, self.up2(x)], 1)))


def main(clock):
    clock.plan(2, 5)
    torch.manual_seed(0)
    net = UNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.95)
    images = torch.rand(64, 3, 64, 64)
    masks = torch.randint(0, 3, (64, 64, 64))
    epoch_loss = torch.zeros(())
    for step in clock.loop():
        with clock.mark(step):
            at = (step % 8) * 8
            loss = F.cross_entropy(net(images[at : at + 8]), masks[at : at + 8])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            epoch_loss += loss.detach()


if __name__ == "__main__":
    run(main)
