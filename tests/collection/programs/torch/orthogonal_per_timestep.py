import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn.utils import parametrize

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "an orthogonal recurrent weight is built again from its parameters at every time step",
    "cause": "the same result computed many times in a step",
    "accept": ["eager-execution", "dominant-op", "tiny-kernels"],
    "rules": ["dominant-op", "eager-execution", "launch-bound", "tiny-kernels"],
    "words": ["Cayley", "parametrize", "parametrization", "linalg_solve", "solve"],
    "repeats": 16,
    "part": "develop",
}


class Cayley(nn.Module):
    def forward(self, x):
        skew = x.triu(1) - x.triu(1).mT
        eye = torch.eye(len(x))
        return torch.linalg.solve(eye + skew, eye - skew)  # planted


class OrthogonalRNN(nn.Module):
    def __init__(self, inputs, width, classes):
        super().__init__()
        self.into = nn.Linear(inputs, width)
        self.hidden = nn.Linear(width, width, bias=False)
        parametrize.register_parametrization(self.hidden, "weight", Cayley())
        self.out = nn.Linear(width, classes)

    def unroll(self, x):
        state = torch.zeros(len(x), self.hidden.out_features)
        for drive in self.into(x).unbind(1):
            state = torch.tanh(drive + self.hidden(state))  # planted
        return self.out(state)

    def forward(self, x, cached=False):
        if cached:
            with parametrize.cached():
                return self.unroll(x)
        return self.unroll(x)


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = OrthogonalRNN(8, 128, 10)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4)
    x, y = torch.randn(64, 16, 8), torch.randint(0, 10, (64,))
    for step in clock.loop():
        with clock.mark(step):
            loss = nn.functional.cross_entropy(model(x, cached=clock.fixed), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
