import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "batches are rows of a tensor that lies column by column, as a data frame gives it",
    "cause": "reading memory with a large stride",
    "accept": ["largest-part", "input-bound"],
    "rules": ["input-bound"],
    "words": ["take_rows", "aten::index"],
    "part": "develop",
}


def read_transactions(rows=60_000, columns=320):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"V{i}": rng.random(rows, dtype=np.float32) for i in range(columns)})
    frame["isFraud"] = (frame["V0"] + frame["V1"] > 1.8).astype(np.int64)
    return frame


def reduce_mem_usage(frame):
    for name in frame.columns:
        if frame[name].dtype == np.float64:
            frame[name] = frame[name].astype(np.float32)
    return frame


class FraudData:
    def __init__(self, frame, row_major):
        values = frame.drop(columns="isFraud").values
        if row_major:
            values = np.ascontiguousarray(values)
        self.x = torch.from_numpy(values.copy(order="K"))
        self.y = torch.from_numpy(frame["isFraud"].to_numpy(copy=True)).float()

    def take_rows(self, rows):
        return self.x[rows], self.y[rows]  # planted


class Net(nn.Module):
    def __init__(self, inputs, width=64):
        super().__init__()
        self.inputs = nn.Linear(inputs, width)
        self.hidden = nn.Linear(width, width)
        self.out = nn.Linear(width, 1)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x):
        x = self.dropout(torch.relu(self.inputs(x)))
        return self.out(torch.relu(self.hidden(x)))[:, 0]


def main(clock):
    clock.plan(3, 8)
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default=4096)
    parser.add_argument("--lr", type=float, default=1e-3)
    opt = parser.parse_args([])
    torch.manual_seed(0)
    data = FraudData(reduce_mem_usage(read_transactions()), row_major=clock.fixed)
    model = Net(data.x.shape[1])
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(20.0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=opt.lr)
    for step in clock.loop():
        with clock.mark(step):
            inputs, target = data.take_rows(torch.randint(0, len(data.y), (opt.batch_size,)))
            loss = criterion(model(inputs), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
