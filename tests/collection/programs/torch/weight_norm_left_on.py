"""A load forecast that runs along with its meter: a temporal convolutional net, one reading a step."""
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn.utils import remove_weight_norm, weight_norm

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "weight normalisation is not removed before inference: each reading computes all weights again from their directions and norms",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["weight_norm", "WeightNorm", "aten::_weight_norm", "aten::_weight_norm_interface", "compute_weight"],
    "part": "develop",
}


def normalised_conv(fan_in, fan_out, kernel):
    return weight_norm(nn.Conv1d(fan_in, fan_out, kernel))  # planted


class StreamingConv(nn.Module):
    """A causal dilated convolution that keeps what it has seen."""

    def __init__(self, fan_in, fan_out, kernel, dilation):
        super().__init__()
        self.kernel, self.dilation = kernel, dilation
        self.conv = normalised_conv(fan_in, fan_out, kernel)
        self.register_buffer("seen", torch.zeros(1, fan_in, (kernel - 1) * dilation + 1))

    def forward(self, x):
        self.seen = torch.cat([self.seen[..., 1:], x], -1)
        return self.convolve()

    def convolve(self):
        return self.conv(self.seen[..., :: self.dilation])  # planted


class TemporalBlock(nn.Module):
    def __init__(self, width, kernel, dilation):
        super().__init__()
        self.first = StreamingConv(width, width, kernel, dilation)
        self.second = StreamingConv(width, width, kernel, dilation)

    def forward(self, x):
        return torch.relu(x + torch.relu(self.second(torch.relu(self.first(x)))))


class TCN(nn.Module):
    def __init__(self, inputs=16, width=320, kernel=5, levels=5, horizon=24):
        super().__init__()
        self.stem = nn.Conv1d(inputs, width, 1)
        self.blocks = nn.Sequential(*[TemporalBlock(width, kernel, 2**i) for i in range(levels)])
        self.head = nn.Linear(width, horizon)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).squeeze(-1))

    def ready(self):
        for module in self.modules():
            if hasattr(module, "weight_g"):
                remove_weight_norm(module)
        return self.eval()


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    model = TCN()
    model = model.ready() if clock.fixed else model.eval()
    readings = torch.randn(64, 1, 16, 1)
    forecasts = []
    with torch.no_grad():
        for step in clock.loop():
            with clock.mark(step):
                forecasts.append(model(readings[step]))


if __name__ == "__main__":
    run(main)
