"""Street scenes by class of pixel: a small FCN with a head for deep supervision."""
import argparse
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the weight of the auxiliary head is 0.0 in the settings, and the head and its loss still run forward and backward",
    "cause": "work done in vain",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["auxiliary_loss", "auxiliary", "FCNHead"],
    "part": "develop",
}

opt = argparse.Namespace(classes=19, size=96, batch=3, lr=0.01, aux_weight=0.0)


def conv_bn(a, b, stride=1):
    return nn.Sequential(nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))


class FCNHead(nn.Sequential):
    def __init__(self, channels, inner, classes):
        super().__init__(conv_bn(channels, inner), nn.Dropout2d(0.1), nn.Conv2d(inner, classes, 1))


class Segmenter(nn.Module):
    def __init__(self, with_auxiliary):
        super().__init__()
        self.early = nn.Sequential(conv_bn(3, 24, 2), conv_bn(24, 48, 2), conv_bn(48, 96))
        self.late = nn.Sequential(conv_bn(96, 96, 2), conv_bn(96, 128))
        self.head = FCNHead(128, 64, opt.classes)
        self.auxiliary = FCNHead(96, 160, opt.classes) if with_auxiliary else None

    def forward(self, x):
        early = self.early(x)
        out = F.interpolate(self.head(self.late(early)), x.shape[-2:], mode="bilinear")
        return out, early


def auxiliary_loss(model, early, masks):
    logits = F.interpolate(model.auxiliary(early), masks.shape[-2:], mode="bilinear")  # planted
    return F.cross_entropy(logits, masks, ignore_index=255)  # planted


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = Segmenter(with_auxiliary=not clock.fixed)
    optimizer = torch.optim.SGD(model.parameters(), opt.lr, momentum=0.9)
    images = torch.rand(8, opt.batch, 3, opt.size, opt.size)
    masks = torch.randint(opt.classes, (8, opt.batch, opt.size, opt.size))
    for step in clock.loop():
        with clock.mark(step):
            logits, early = model(images[step])
            loss = F.cross_entropy(logits, masks[step], ignore_index=255)
            if model.auxiliary is not None:
                loss = loss + opt.aux_weight * auxiliary_loss(model, early, masks[step])  # planted
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
