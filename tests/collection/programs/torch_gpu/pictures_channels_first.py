"""Moths by photograph: a residual network in bfloat16."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the network and its pictures lie channels first, and cuDNN turns its tensors round before and after convolutions on tensor cores",
    "cause": "memory layout",
    "accept": ["largest-part", "dominant-op", "device-copies", "layout-transposes"],
    "rules": ["dominant-op", "layout-transposes"],
    "words": ["nchwToNhwc", "nhwcToNchw", "aten::cudnn_convolution", "aten::convolution", "aten::convolution_backward", "ConvolutionBackward0", "memory_format"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, SIZE, WIDTHS = (128, 224, (64, 128, 256)) if BIG else (4, 32, (8, 16, 16))


class Unit(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b)
        self.conv2, self.norm2 = nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b)
        self.skip = nn.Conv2d(a, b, 1, stride, bias=False) if stride > 1 or a != b else nn.Identity()

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        return F.relu(self.norm2(self.conv2(y)) + self.skip(x), inplace=True)


class MothNet(nn.Module):
    def __init__(self, kinds=400):
        super().__init__()
        self.stem = nn.Conv2d(3, WIDTHS[0], 5, 2, 2, bias=False)
        widths = (WIDTHS[0], *WIDTHS)
        self.stages = nn.Sequential(*[nn.Sequential(Unit(a, b, 2), Unit(b, b, 1), Unit(b, b, 1)) for a, b in zip(widths, widths[1:])])
        self.head = nn.Linear(WIDTHS[-1], kinds)

    def forward(self, x):
        return self.head(self.stages(self.stem(x)).mean((2, 3)))


def build(layout):
    with torch.device(DEVICE):
        model, pictures = MothNet(), torch.rand(3 * BATCH, 3, SIZE, SIZE)
    return model.to(memory_format=layout), pictures.to(memory_format=layout)  # planted


def train_batch(model, optimizer, x, y):
    with torch.autocast(DEVICE, torch.bfloat16):
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def main(clock):
    clock.plan(4, 5)
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    model, pictures = build(torch.channels_last if clock.fixed else torch.contiguous_format)
    kinds = torch.randint(400, (3 * BATCH,), device=DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, nesterov=True, weight_decay=5e-5, fused=True)
    for step in clock.loop():
        with clock.mark(step):
            rows = slice(step % 3 * BATCH, (step % 3 + 1) * BATCH)
            train_batch(model, optimizer, pictures[rows], kinds[rows])

if __name__ == "__main__":
    run(main)
