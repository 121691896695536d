import copy
import sys
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the mean teacher of a segmentation is not run under no_grad, and its gradients are computed as well",
    "cause": "gradients that nobody uses",
    "accept": ["unused-gradients"],
    "rules": ["unused-gradients"],
    "words": ["teacher", "ConvolutionBackward0", "aten::convolution_backward"],
    "part": "develop",
}


class DoubleConv(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(a, b, 3, padding=1),
            nn.GroupNorm(4, b),
            nn.SiLU(),
            nn.Conv2d(b, b, 3, padding=1),
            nn.GroupNorm(4, b),
            nn.SiLU(),
        )

    def forward(self, x):
        return self.net(x)


class UNet(nn.Module):
    def __init__(self, c=16, classes=4):
        super().__init__()
        self.d1, self.d2, self.mid = (
            DoubleConv(3, c),
            DoubleConv(c, 2 * c),
            DoubleConv(2 * c, 4 * c),
        )
        self.u2, self.u1 = DoubleConv(6 * c, 2 * c), DoubleConv(3 * c, c)
        self.head = nn.Conv2d(c, classes, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        y = self.u2(torch.cat([F.interpolate(m, scale_factor=2.0), b], 1))
        y = self.u1(torch.cat([F.interpolate(y, scale_factor=2.0), a], 1))
        return self.head(y)


@torch.no_grad()
def update_ema(teacher, student, decay=0.99):
    torch._foreach_lerp_(list(teacher.parameters()), list(student.parameters()), 1 - decay)


def consistency(student_logits, teacher_logits):
    return F.mse_loss(student_logits.softmax(1), teacher_logits.softmax(1))


def train_step(student, teacher, optimizer, images, masks, unlabelled, with_gradients):
    noisy = unlabelled + 0.05 * torch.randn_like(unlabelled)
    logits = student(torch.cat([images, noisy]))
    with torch.set_grad_enabled(with_gradients):
        target = teacher(unlabelled)  # planted
    loss = F.cross_entropy(logits[: len(images)], masks) + consistency(
        logits[len(images) :], target
    )
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    update_ema(teacher, student)
    return loss


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    student = UNet()
    teacher = copy.deepcopy(student)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
    images, masks = torch.rand(2, 3, 48, 48), torch.randint(4, (2, 48, 48))
    unlabelled = torch.rand(6, 3, 48, 48)
    for step in clock.loop():
        with clock.mark(step):
            train_step(student, teacher, optimizer, images, masks, unlabelled, not clock.fixed)


if __name__ == "__main__":
    run(main)
