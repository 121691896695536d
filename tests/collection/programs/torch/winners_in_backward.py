import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the backward of the user's pooling function writes gradients cloud by cloud in a Python loop",
    "cause": "a loop over the batch within backward",
    "accept": ["largest-part", "python-bound", "eager-execution", "tiny-kernels", "launch-bound"],
    "rules": ["python-bound", "eager-execution", "tiny-kernels", "launch-bound"],
    "words": ["spread_to_winners", "index_put_", "MaxOverPoints"],
    "part": "develop",
}


def spread_to_winners(grad, winners, shape):
    out = grad.new_zeros(shape)
    channels = torch.arange(shape[2])
    for cloud in range(shape[0]):
        out[cloud, winners[cloud], channels] = grad[cloud]  # planted
    return out


def scatter_to_winners(grad, winners, shape):
    return grad.new_zeros(shape).scatter_(1, winners[:, None], grad[:, None])


class MaxOverPoints(Function):
    spread = staticmethod(spread_to_winners)

    @staticmethod
    def forward(ctx, points):
        values, winners = points.max(1)
        ctx.save_for_backward(winners)
        ctx.shape = points.shape
        return values

    @staticmethod
    def backward(ctx, grad):
        (winners,) = ctx.saved_tensors
        return MaxOverPoints.spread(grad, winners, ctx.shape)


class SharedMLP(nn.Sequential):
    def __init__(self, *widths):
        layers = []
        for inputs, outputs in zip(widths, widths[1:]):
            layers += [nn.Linear(inputs, outputs), nn.LayerNorm(outputs), nn.ReLU()]
        super().__init__(*layers)


class PointNet(nn.Module):
    def __init__(self, classes=40):
        super().__init__()
        self.local = SharedMLP(3, 16, 32)
        self.whole = SharedMLP(32, 64)
        self.head = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, classes))

    def forward(self, clouds):
        return self.head(MaxOverPoints.apply(self.whole(self.local(clouds))))


def jitter(clouds, sigma=0.01, clip=0.05):
    return clouds + (sigma * torch.randn_like(clouds)).clamp(-clip, clip)


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    MaxOverPoints.spread = staticmethod(scatter_to_winners if clock.fixed else spread_to_winners)
    model = PointNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    clouds, labels = torch.randn(512, 24, 3), torch.randint(0, 40, (512,))
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            F.cross_entropy(model(jitter(clouds)), labels).backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
