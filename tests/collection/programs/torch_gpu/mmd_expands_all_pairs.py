"""Domain adaptation: digits of two sources are to have features of one distribution."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the distances within the MMD loss expand all pairs of features to a tensor of pairs x features, where cdist needs a matrix product",
    "cause": "a needlessly expensive formula",
    "accept": ["largest-part", "dominant-op", "unfused-ops"],
    "rules": ["dominant-op", "unfused-ops"],
    "words": ["gaussian_kernels", "mmd", "aten::pow", "PowBackward0", "aten::sub", "SubBackward0"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, WIDTH, SIDE = (512, 256, 64) if BIG else (8, 16, 32)


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        layers, widths = [], (3, 64, 128, 256)
        for a, b in zip(widths, widths[1:]):
            layers += [nn.Conv2d(a, b, 3, 2, 1), nn.BatchNorm2d(b), nn.ReLU(), nn.Conv2d(b, b, 3, 1, 1), nn.BatchNorm2d(b), nn.ReLU()]
        self.convs, self.last = nn.Sequential(*layers), nn.Linear(256, WIDTH)

    def forward(self, x):
        return self.last(self.convs(x).mean((2, 3)))


def gaussian_kernels(source, target, product, count=5, ratio=2.0):
    total = torch.cat([source, target])
    if product:
        squares = total.square().sum(1)
        distance = (squares[:, None] + squares - 2 * total @ total.T).clamp(min=0)
    else:
        size = (len(total), len(total), total.shape[1])
        distance = (total[None].expand(size) - total[:, None].expand(size)).pow(2).sum(2)  # planted
    width = distance.detach().sum() / (len(total) ** 2 - len(total)) / ratio ** (count // 2)
    return sum(torch.exp(-distance / (width * ratio**number)) for number in range(count))


def mmd(source, target, product):
    kernels = gaussian_kernels(source, target, product)  # planted
    n = len(source)
    return (kernels[:n, :n] + kernels[n:, n:] - kernels[:n, n:] - kernels[n:, :n]).mean()


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        net, head = Features().to(memory_format=torch.channels_last), nn.Linear(WIDTH, 10)
        printed, street = (torch.rand(2 * BATCH, 3, SIDE, SIDE).to(memory_format=torch.channels_last) for _ in range(2))
        digits = torch.randint(10, (2, BATCH))
    optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=1e-3, fused=True)
    for step in clock.loop():
        with clock.mark(step):
            rows = slice(step % 2 * BATCH, (step % 2 + 1) * BATCH)
            both = torch.cat([printed[rows], street[rows]])
            with torch.autocast(DEVICE, torch.bfloat16):
                features = net(both)
                loss = F.cross_entropy(head(features[:BATCH]), digits[step % 2])
            features = features.float()
            loss = loss + 0.3 * mmd(features[:BATCH], features[BATCH:], clock.fixed)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    run(main)
