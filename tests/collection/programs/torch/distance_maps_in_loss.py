import logging
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from scipy.ndimage import distance_transform_edt
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a boundary loss makes the distance maps of its masks again in each step, with scipy",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part", "python-bound"],
    "rules": [],
    "words": [
        "distance_transform_edt",
        "euclidean_feature_transform",
        "one_hot2dist",
        "scipy",
        "BoundaryLoss",
    ],
    "part": "develop",
}

log = logging.getLogger("segment")


def one_hot2dist(mask):
    """Signed distances to the border of each class: negative inside."""
    maps = np.zeros(mask.shape, np.float32)
    for at in np.ndindex(*mask.shape[:2]):
        inside = mask[at].astype(bool)
        if inside.any():
            outer = distance_transform_edt(~inside)  # planted
            inner = distance_transform_edt(inside)  # planted
            maps[at] = outer - (inner - 1) * inside
    return maps


class BoundaryLoss(nn.Module):
    def __init__(self, known=None):
        super().__init__()
        self.known = known

    def maps_of(self, mask, rows):
        if self.known is not None:
            return self.known[rows]
        return torch.from_numpy(one_hot2dist(mask.cpu().numpy()))  # planted

    def forward(self, probs, mask, rows):
        return (probs * self.maps_of(mask, rows)).mean()


def dice_loss(probs, mask, eps=1.0):
    both = (probs * mask).sum((2, 3))
    return 1 - ((2 * both + eps) / (probs.sum((2, 3)) + mask.sum((2, 3)) + eps)).mean()


class Block(nn.Sequential):
    def __init__(self, inside, outside, stride=1):
        conv = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        super().__init__(conv, nn.BatchNorm2d(outside), nn.ReLU(True))


class ENetLite(nn.Module):
    def __init__(self, classes=4, width=8):
        super().__init__()
        self.down1, self.down2 = Block(1, width, stride=2), Block(width, 2 * width)
        self.up1 = Block(3 * width, width)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        x1 = self.down1(x)
        x2 = self.down2(F.max_pool2d(x1, 2))
        x = F.interpolate(x2, scale_factor=2, mode="bilinear", align_corners=False)
        logits = self.head(self.up1(torch.cat([x1, x], 1)))
        logits = F.interpolate(logits, scale_factor=2, mode="bilinear", align_corners=False)
        return logits.softmax(1)


def ventricles(count, size=128):
    """Slices with a cavity, its wall, and what lies beside it."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:size, :size]
    centre = rng.uniform(44, 84, (count, 2, 1, 1))
    radius = rng.uniform(10, 18, (count, 2, 1, 1))
    far = ((y - centre[:, 0]) / radius[:, 0]) ** 2 + ((x - centre[:, 1]) / radius[:, 1]) ** 2
    classes = np.digitize(far, [1, 2, 4])
    images = classes + 0.3 * rng.standard_normal(classes.shape)
    one_hot = np.eye(4, dtype=np.float32)[classes].transpose(0, 3, 1, 2).copy()
    return images.astype(np.float32)[:, None], one_hot


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    images, masks = ventricles(64)
    known = torch.from_numpy(one_hot2dist(masks)) if clock.fixed else None
    images, masks = torch.from_numpy(images), torch.from_numpy(masks)
    boundary, alpha = BoundaryLoss(known), 0.01
    model = ENetLite()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, betas=(0.9, 0.99))
    for step in clock.loop():
        with clock.mark(step):
            rows = torch.randperm(len(images))[:5]
            probs, mask = model(images[rows]), masks[rows]
            loss = (1 - alpha) * dice_loss(probs, mask) + alpha * boundary(probs, mask, rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 50 == 0:
                alpha = min(alpha + 0.01, 1)
                log.info("step %d: %.4f", step, loss.item())


if __name__ == "__main__":
    run(main)
