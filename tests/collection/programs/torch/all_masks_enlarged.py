"""Instance segmentation by queries (MaskFormer): the loss on matched masks."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the masks of all 64 queries are enlarged to the size of the picture before the few that match an object are picked",
    "cause": "order of operations",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["mask_loss", "interpolate", "aten::upsample_bilinear2d", "UpsampleBilinear2DBackward0", "aten::upsample_bilinear2d_backward"],
    "part": "develop",
}

QUERIES, SIZE, STRIDE, WIDTH = 64, 192, 4, 48


class MaskNet(nn.Module):
    def __init__(self, classes=20):
        super().__init__()
        self.pixels = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, WIDTH, 3, 2, 1), nn.ReLU(), nn.Conv2d(WIDTH, WIDTH, 3, 1, 1))
        self.queries = nn.Parameter(torch.randn(QUERIES, WIDTH) * 0.1)
        self.attend = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.classes = nn.Linear(WIDTH, classes + 1)

    def forward(self, image):
        pixels = self.pixels(image)
        memory = F.avg_pool2d(pixels, 4).flatten(2).mT
        queries = self.queries.expand(len(image), -1, -1)
        queries = queries + self.attend(queries, memory, memory, need_weights=False)[0]
        return self.classes(queries), torch.einsum("bqc,bchw->bqhw", queries, pixels)


@torch.no_grad()
def match(logits, masks, labels, truth):
    small = F.avg_pool2d(truth[None], STRIDE)[0].flatten(1)
    cost = -logits.softmax(-1)[:, labels] - masks.sigmoid().flatten(1) @ small.T / small.sum(1)
    return [torch.as_tensor(side) for side in linear_sum_assignment(cost.numpy())]


def mask_loss(masks, chosen, truth, pick_first):
    if pick_first:
        large = F.interpolate(masks[None, chosen], scale_factor=STRIDE, mode="bilinear")[0]
    else:
        large = F.interpolate(masks[None], scale_factor=STRIDE, mode="bilinear")[0][chosen]  # planted
    overlap = (large.sigmoid() * truth).sum((1, 2))
    dice = 1 - 2 * overlap / (large.sigmoid().sum((1, 2)) + truth.sum((1, 2)) + 1)
    return F.binary_cross_entropy_with_logits(large, truth) + dice.mean()


def criterion(outputs, targets, pick_first):
    total = 0.0
    for logits, masks, (labels, truth) in zip(*outputs, targets):
        chosen, order = match(logits, masks, labels, truth)
        wanted = torch.full((QUERIES,), logits.shape[-1] - 1)
        wanted[chosen] = labels[order]
        total = total + F.cross_entropy(logits, wanted) + mask_loss(masks, chosen, truth[order], pick_first)
    return total / len(targets)


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = MaskNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    images = torch.rand(4, 2, 3, SIZE, SIZE)
    targets = [[(torch.randint(20, (n,)), (torch.rand(n, SIZE, SIZE) > 0.8).float()) for n in (3, 5)] for _ in range(4)]
    for step in clock.loop():
        with clock.mark(step):
            loss = criterion(model(images[step % 4]), targets[step % 4], clock.fixed)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
