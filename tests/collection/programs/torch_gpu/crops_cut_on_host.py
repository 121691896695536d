"""Two views of every picture (SimSiam), without labels."""
import sys
from pathlib import Path
from random import Random

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "random crops and flips are cut picture by picture in Python on the host, twice a picture, while the device waits",
    "cause": "input is made on the host",
    "accept": ["largest-part", "input-bound", "python-bound", "host-input-limit", "idle-device", "host-waits"],
    "rules": ["input-bound", "python-bound", "host-input-limit", "idle-device"],
    "words": ["random_view", "views_on_host", "aten::upsample_bilinear2d", "aten::flip", "interpolate"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, STORED, SIZE, WIDTHS = (64, 96, 64, (64, 128, 256)) if BIG else (4, 32, 24, (8, 8, 8))


def random_view(picture, random):
    side = random.randint(STORED // 2, STORED)
    top, left = random.randint(0, STORED - side), random.randint(0, STORED - side)
    crop = picture[None, :, top : top + side, left : left + side].float() / 255  # planted
    view = F.interpolate(crop, (SIZE, SIZE), mode="bilinear", antialias=True)[0]  # planted
    return view.flip(-1) if random.random() < 0.5 else view  # planted


def views_on_host(pictures, random):
    views = torch.stack([random_view(picture, random) for picture in pictures])  # planted
    return views.to(DEVICE)


def views_on_device(pictures, random):
    pictures = pictures.to(DEVICE, non_blocking=True).float().div_(255)
    scale = torch.empty(len(pictures), 2, device=DEVICE).uniform_(0.5, 1)
    shift = (1 - scale) * torch.empty_like(scale).uniform_(-1, 1)
    flip = torch.empty_like(scale[:, 0]).bernoulli_().mul_(2).sub_(1)
    theta = torch.zeros(len(pictures), 2, 3, device=DEVICE)
    theta[:, 0, 0], theta[:, 1, 1], theta[:, :, 2] = scale[:, 0] * flip, scale[:, 1], shift
    grid = F.affine_grid(theta, (len(pictures), 3, SIZE, SIZE), align_corners=False)
    return F.grid_sample(pictures, grid, align_corners=False)


def encoder():
    layers, last = [nn.Conv2d(3, WIDTHS[0], 3, 1, 1), nn.BatchNorm2d(WIDTHS[0]), nn.ReLU(inplace=True)], WIDTHS[0]
    for width in WIDTHS:
        for a, b, stride in ((last, width, 2), (width, width, 1)):
            layers += [nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True)]
        last = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, 512, bias=False), nn.BatchNorm1d(512))


def distance(p, z):
    return -F.cosine_similarity(p, z.detach()).mean()


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    random = Random(0)
    model = encoder().to(DEVICE, memory_format=torch.channels_last)
    predictor = nn.Sequential(nn.Linear(512, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 512)).to(DEVICE)
    optimizer = torch.optim.SGD([*model.parameters(), *predictor.parameters()], 0.05, momentum=0.9, fused=True)
    pictures = torch.randint(256, (8 * BATCH, 3, STORED, STORED), dtype=torch.uint8)
    if BIG:
        pictures = pictures.pin_memory()
    cut = views_on_device if clock.fixed else views_on_host
    for step in clock.loop():
        with clock.mark(step):
            batch = pictures[step % 8 * BATCH : (step % 8 + 1) * BATCH]
            one, two = cut(batch, random), cut(batch, random)
            with torch.autocast(DEVICE, torch.bfloat16):
                z1, z2 = model(torch.cat([one, two]).contiguous(memory_format=torch.channels_last)).chunk(2)
                loss = (distance(predictor(z1), z2) + distance(predictor(z2), z1)) / 2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    run(main)
