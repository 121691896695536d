import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(2000, 96)
        self.lstm = nn.LSTM(96, 192, batch_first=True)
        self.out = nn.Linear(192, 20)

    def forward(self, tokens):
        return self.out(self.lstm(self.embed(tokens))[0])


def main(clock):
    clock.plan(2, 4)
    data = TensorDataset(torch.randint(0, 2000, (512, 24)), torch.randint(0, 20, (512, 24)))
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters())
    for step, (x, y) in enumerate(DataLoader(data, batch_size=64)):
        if clock.tick(step):
            break
        with clock.mark(step):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
