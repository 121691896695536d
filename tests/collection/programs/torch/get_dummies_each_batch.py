import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each batch goes through pd.get_dummies and reindex to the columns of the whole table, where codes could have been made once",
    "cause": "a library for tables in the loop",
    "accept": ["largest-part", "python-bound", "input-bound"],
    "rules": ["python-bound", "input-bound"],
    "words": ["get_dummies", "reindex", "pandas", "to_features"],
    "part": "score",
}

CATEGORIES = {"job": 21, "city": 120, "channel": 9, "product": 64, "weekday": 7, "device": 30}
NUMBERS = ["age", "income", "balance", "visits"]


def make_table(rows, rng):
    table = pd.DataFrame({name: rng.integers(0, kinds, rows).astype(str) for name, kinds in CATEGORIES.items()})
    for name in NUMBERS:
        table[name] = rng.normal(size=rows)
    table["bought"] = rng.integers(0, 2, rows)
    return table


class Churn:
    def __init__(self, table):
        self.table = table
        self.columns = pd.get_dummies(table[[*CATEGORIES, *NUMBERS]]).columns
        self.encoded = None

    def to_features(self, rows):
        dummies = pd.get_dummies(rows[[*CATEGORIES, *NUMBERS]])  # planted
        return dummies.reindex(columns=self.columns, fill_value=0).to_numpy(np.float32)  # planted

    def encode_once(self):
        self.encoded = pd.get_dummies(self.table[[*CATEGORIES, *NUMBERS]]).to_numpy(np.float32)

    def batches(self, size, rng):
        target = self.table["bought"].to_numpy(np.float32)
        while True:
            at = rng.choice(len(self.table), size, replace=False)
            x = self.to_features(self.table.iloc[at]) if self.encoded is None else self.encoded[at]
            yield torch.from_numpy(x), torch.from_numpy(target[at])


def mlp(inputs):
    layers = []
    for a, b in zip([inputs, 512, 256, 128], [512, 256, 128, 64]):
        layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.SiLU()]
    return nn.Sequential(*layers, nn.Linear(64, 1), nn.Flatten(0))


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    data = Churn(make_table(6000, rng))
    if clock.fixed:
        data.encode_once()
    net = mlp(len(data.columns))
    opt = torch.optim.AdamW(net.parameters(), lr=3e-4)
    bce = nn.BCEWithLogitsLoss()
    batches = data.batches(256, rng)
    for step in clock.loop():
        with clock.mark(step):
            x, y = next(batches)
            opt.zero_grad(set_to_none=True)
            bce(net(x), y).backward()
            opt.step()


if __name__ == "__main__":
    run(main)
