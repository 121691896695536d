"""Weather from stations: their readings are put on a grid, a net sharpens the field."""
import sys
from pathlib import Path

import numpy as np
import torch
from scipy.interpolate import griddata
from torch import nn
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "griddata triangulates the same stations again for every field it puts on the grid",
    "cause": "constant data computed again in each step",
    "accept": ["largest-part", "input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "loader-workers"],
    "rules": ["input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "loader-workers"],
    "words": ["griddata", "LinearNDInterpolator", "Stations", "on_grid", "__getitem__"],
    "part": "develop",
}

STATIONS, SIDE, BATCH = 800, 40, 4


class Stations(Dataset):
    def __init__(self, weigh_once):
        rng = np.random.default_rng(0)
        self.places, self.readings = rng.random((STATIONS, 2)), rng.standard_normal((64, STATIONS)).astype("float32")
        axis = np.linspace(0.1, 0.9, SIDE)
        self.grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
        # Interpolation is linear in the readings: the fields of unit readings are its weights.
        self.weights = griddata(self.places, np.eye(STATIONS), self.grid, fill_value=0.0).astype("float32") if weigh_once else None

    def __len__(self):
        return len(self.readings)

    def on_grid(self, readings):
        if self.weights is not None:
            return self.weights @ readings
        return griddata(self.places, readings, self.grid, fill_value=0.0)  # planted

    def __getitem__(self, i):
        field = self.on_grid(self.readings[i]).astype("float32").reshape(1, SIDE, SIDE)
        return torch.from_numpy(field), torch.from_numpy(np.tanh(field))


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    loader = DataLoader(Stations(weigh_once=clock.fixed), batch_size=BATCH, shuffle=True)
    model = nn.Sequential(nn.Conv2d(1, 24, 5, padding=2), nn.ReLU(), nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 1, 3, padding=1))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for step, (field, wanted) in enumerate(loader):
        if clock.tick(step):
            break
        with clock.mark(step):
            loss = nn.functional.mse_loss(model(field), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
