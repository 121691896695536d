import sys
from collections import namedtuple
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the VGG of a perceptual loss is not frozen: backward computes gradients of its weights, which nobody uses",
    "cause": "gradients that nobody uses",
    "accept": ["unused-gradients", "largest-part", "dominant-op"],
    "rules": ["unused-gradients"],
    "words": [
        "PerceptualLoss",
        "VGGFeatures",
        "ConvolutionBackward0",
        "aten::convolution_backward",
    ],
    "part": "develop",
}

Losses = namedtuple("Losses", "pixel content total")


class VGGFeatures(nn.Module):
    """The head of VGG-16, up to relu3_1."""

    def __init__(self, plan=(32, 32, "M", 64, 64, "M", 128)):
        super().__init__()
        layers, channels = [], 3
        for width in plan:
            if width == "M":
                layers.append(nn.MaxPool2d(2))
            else:
                layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
                channels = width
        self.layers = nn.Sequential(*layers)
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1))

    def forward(self, x):
        return self.layers((x - self.mean) / self.std)


class PerceptualLoss(nn.Module):
    def __init__(self, vgg, weight=0.06):
        super().__init__()
        self.vgg, self.weight = vgg.eval(), weight

    def content_loss(self, output, target):
        with torch.no_grad():
            wanted = self.vgg(target)
        return F.mse_loss(self.vgg(output), wanted)  # planted

    def forward(self, output, target):
        content = self.content_loss(output, target)
        pixel = F.l1_loss(output, target)
        return Losses(pixel, content, pixel + self.weight * content)


class ESPCN(nn.Module):
    def __init__(self, scale=2, width=16):
        super().__init__()
        self.first = nn.Conv2d(3, width, 5, padding=2)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.last = nn.Conv2d(width, 3 * scale**2, 3, padding=1)
        self.shuffle = nn.PixelShuffle(scale)

    def forward(self, x):
        x = torch.tanh(self.second(torch.tanh(self.first(x))))
        return torch.sigmoid(self.shuffle(self.last(x)))


def load_vgg(frozen):
    vgg = VGGFeatures()
    if frozen:
        vgg.requires_grad_(False)
    return vgg


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    generator = ESPCN()
    criterion = PerceptualLoss(load_vgg(frozen=clock.fixed))
    optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
    high = torch.rand(64, 3, 64, 64)
    low = F.avg_pool2d(high, 2)
    for step in clock.loop():
        with clock.mark(step):
            at = step * 4 % len(high)
            losses = criterion(generator(low[at : at + 4]), high[at : at + 4])
            optimizer.zero_grad()
            losses.total.backward()
            optimizer.step()
            scheduler.step()


if __name__ == "__main__":
    run(main)
