"""Large batches with LARS, whose layers each have a rate."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the optimizer asks of every weight on the host whether its norm and its gradient's are above zero, and updates one weight after the other",
    "cause": "the host waits for the device",
    "accept": ["largest-part", "host-waits", "launch-bound", "tiny-kernels", "optimizer-per-variable", "python-bound", "idle-device"],
    "rules": ["host-waits", "launch-bound", "tiny-kernels", "optimizer-per-variable"],
    "words": ["LARS", "Optimizer.step#LARS", "aten::is_nonzero", "aten::item", "aten::_local_scalar_dense", "aten::linalg_vector_norm", "aten::norm"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, SIZE, WIDTHS = (512, 64, (64, 96, 128, 192)) if BIG else (8, 32, (8, 8, 8, 8))


class LARS(torch.optim.Optimizer):
    def __init__(self, weights, lr, momentum=0.9, decay=1e-4, trust=0.001, together=False):
        super().__init__(weights, {"lr": lr, "momentum": momentum, "decay": decay, "trust": trust})
        self.together = together

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for weight in group["params"]:
                if not self.state[weight]:
                    self.state[weight]["mu"] = torch.zeros_like(weight)
            if self.together:
                self.update_all(group)
            else:
                for weight in group["params"]:
                    self.update(weight, group)

    def update(self, weight, group):
        change = weight.grad + group["decay"] * weight
        own, other = weight.norm(), weight.grad.norm()
        rate = 1.0
        if own > 0 and other > 0:  # planted
            rate = group["trust"] * own / (other + group["decay"] * own)
        mu = self.state[weight]["mu"]
        mu.mul_(group["momentum"]).add_(change * rate)
        weight.add_(mu, alpha=-group["lr"])

    def update_all(self, group):
        weights = group["params"]
        changes = [weight.grad for weight in weights]
        norms = torch.stack(torch._foreach_norm(weights) + torch._foreach_norm(changes)).view(2, -1).tolist()
        rates = [group["trust"] * a / (b + group["decay"] * a) if a > 0 and b > 0 else 1.0 for a, b in zip(*norms)]
        torch._foreach_add_(changes, weights, alpha=group["decay"])
        torch._foreach_mul_(changes, rates)
        mus = [self.state[weight]["mu"] for weight in weights]
        torch._foreach_mul_(mus, group["momentum"])
        torch._foreach_add_(mus, changes)
        torch._foreach_add_(weights, mus, alpha=-group["lr"])


def unit(a, b, stride):
    return [nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True)]


def network():
    layers, last = [], 3
    for width in WIDTHS:
        layers += unit(last, width, 2) + unit(width, width, 1) + unit(width, width, 1)
        last = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, 200))


def main(clock):
    clock.plan(3, 3)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        model = network().to(memory_format=torch.channels_last)
        x = torch.rand(2 * BATCH, 3, SIZE, SIZE).to(memory_format=torch.channels_last)
        y = torch.randint(200, (2, BATCH))
    optimizer = LARS(model.parameters(), lr=2.0, together=clock.fixed)
    for step in clock.loop():
        with clock.mark(step):
            half = step % 2
            with torch.autocast(DEVICE, torch.bfloat16):
                loss = F.cross_entropy(model(x[half * BATCH : (half + 1) * BATCH]), y[half])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    run(main)
