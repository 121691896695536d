"""Forecasts many series at once: patches of the past through a transformer, one linear head."""
import sys
from pathlib import Path

import torch
import torch.nn as nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "score"}

PAST, AHEAD, PATCH, DIM = 256, 48, 16, 96


class PatchForecaster(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.project = nn.Linear(PATCH, DIM)
        self.place = nn.Parameter(0.02 * torch.randn(PAST // PATCH, DIM))
        layer = nn.TransformerEncoderLayer(DIM, 4, 2 * DIM, dropout=0.1, batch_first=True)
        self.body = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(DIM * PAST // PATCH, AHEAD)

    def forward(self, past):
        mean, width = past.mean(-1, keepdim=True), past.std(-1, keepdim=True) + 1e-5
        x = self.project(((past - mean) / width).unflatten(-1, (-1, PATCH))) + self.place
        return self.head(self.body(x).flatten(1)) * width + mean


class Windows(torch.utils.data.IterableDataset):
    """Batches of windows, cut from all series by one index."""

    def __init__(self, series, batch):
        self.series, self.batch = series, batch

    def __iter__(self):
        count, length = self.series.shape
        reach = torch.arange(PAST + AHEAD)
        while True:
            row = torch.randint(count, (self.batch, 1))
            start = torch.randint(length - PAST - AHEAD, (self.batch, 1))
            window = self.series[row, start + reach]
            yield window[:, :PAST], window[:, PAST:]


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    model = PatchForecaster().train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    loader = torch.utils.data.DataLoader(Windows(torch.randn(64, 3000).cumsum(1), 64), batch_size=None)
    for step, (past, ahead) in enumerate(loader):
        if clock.tick(step):
            break
        with clock.mark(step):
            loss = nn.functional.smooth_l1_loss(model(past), ahead)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
