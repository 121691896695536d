import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "an LSTM cell in a Python loop over time instead of nn.LSTM",
    "cause": "tiny ops",
    "accept": ["eager-execution", "tiny-ops"],
    "rules": ["eager-execution", "tiny-ops"],
    "words": ["LoopLSTM", "forward", "LSTMCell", "lstm_cell", "aten/sigmoid"],
    "part": "develop",
}


class LoopLSTM(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.x = nn.Linear(size, 4 * size)
        self.h = nn.Linear(size, 4 * size)

    def forward(self, x):
        h = c = torch.zeros(x.shape[0], x.shape[2])
        for t in range(x.shape[1]):
            i, f, g, o = (self.x(x[:, t]) + self.h(h)).chunk(4, 1)  # planted
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)  # planted
            h = torch.sigmoid(o) * torch.tanh(c)  # planted
        return h


class FastLSTM(nn.LSTM):
    def forward(self, x):
        return super().forward(x)[1][0][0]


def main(clock):
    clock.plan(3, 4)
    model = FastLSTM(32, 32, batch_first=True) if clock.fixed else LoopLSTM(32)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(16, 40, 32)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
