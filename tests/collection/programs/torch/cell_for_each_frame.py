import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a GRU cell is called for each frame of a recording, where one call of the layer takes all",
    "cause": "a loop over positions",
    "accept": ["eager-execution"],
    "rules": ["eager-execution"],
    "words": ["cell", "Detector.forward"],
    "part": "develop",
}


class Detector(nn.Module):
    def __init__(self, is_fixed):
        super().__init__()
        self.is_fixed = is_fixed
        self.layer, self.cell, self.head = nn.GRU(40, 96, batch_first=True), nn.GRUCell(40, 96), nn.Linear(96, 2)

    def forward(self, frames):
        if self.is_fixed:
            return self.head(self.layer(frames)[0])
        state = frames.new_zeros(frames.shape[0], 96)
        states = []
        for at in range(frames.shape[1]):
            state = self.cell(frames[:, at], state)  # planted
            states.append(state)
        return self.head(torch.stack(states, 1))


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    model = Detector(clock.fixed)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    frames, labels = torch.randn(8, 24, 60, 40), torch.randint(0, 2, (8, 24, 60))
    for step in clock.loop():
        with clock.mark(step):
            out = model(frames[step % 8])
            loss = nn.functional.cross_entropy(out.flatten(0, 1), labels[step % 8].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
