import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the moving average of the weights is kept weight by weight, in float64, each change read",
    "cause": "variables one by one",
    "accept": ["eager-execution", "optimizer-per-variable", "python-bound"],
    "rules": ["eager-execution", "optimizer-per-variable", "python-bound"],
    "words": ["MovingAverage", "update", "aten/sub", "aten/item", "aten/to"],
    "part": "develop",
}


class Dense(nn.Module):
    def __init__(self, width=32, growth=16, layers=3):
        super().__init__()
        self.stem, self.layers = nn.Linear(32, width), nn.ModuleList()
        for number in range(layers):
            size = width + number * growth
            self.layers.append(nn.Sequential(nn.LayerNorm(size), nn.ReLU(), nn.Linear(size, growth)))
        self.head = nn.Linear(width + layers * growth, 10)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return self.head(x)


class MovingAverage:
    def __init__(self, model):
        self.shadow = {name: value.detach().clone() for name, value in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for name, value in model.named_parameters():
            old = self.shadow[name]
            if (value.double() - old.double()).norm().item() > 0:  # planted
                old.copy_((0.99 * old.double() + 0.01 * value.double()).float())  # planted

    @torch.no_grad()
    def update_together(self, model):
        torch._foreach_lerp_(list(self.shadow.values()), list(model.parameters()), 0.01)


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    model = Dense()
    average = MovingAverage(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, foreach=True)
    x, y = torch.randn(2048, 32), torch.randint(0, 10, (2048,))
    for step in clock.loop():
        with clock.mark(step):
            rows = torch.randint(0, 2048, (64,))
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if clock.fixed:
                average.update_together(model)
            else:
                average.update(model)


if __name__ == "__main__":
    run(main)
