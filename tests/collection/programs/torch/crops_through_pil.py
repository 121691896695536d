"""Self-supervised views of satellite tiles that are tensors already (SimSiam)."""
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "tiles are tensors, and each view turns every tile into a PIL image for a crop and a flip, and back, where the batch could be cropped by slices",
    "cause": "conversions back and forth",
    "accept": ["largest-part", "python-bound", "input-bound", "python-in-pipeline", "host-input-limit"],
    "rules": ["python-bound", "input-bound", "python-in-pipeline", "host-input-limit"],
    "words": ["view_through_pil", "fromarray", "PIL", "Image.py", "to_pil", "to_tensor"],
    "part": "develop",
}

TILES, BATCH, SIDE, CROP = 256, 48, 48, 32


def to_pil(tile):
    return Image.fromarray((tile.permute(1, 2, 0).numpy() * 255).astype("uint8"))


def to_tensor(image):
    return torch.from_numpy(np.array(image, dtype="float32")).permute(2, 0, 1) / 255


def view_through_pil(tiles, rng):
    views = []
    for tile in tiles:
        y, x = rng.integers(0, SIDE - CROP, 2)
        image = to_pil(tile).crop((x, y, x + CROP, y + CROP))  # planted
        if rng.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        views.append(to_tensor(image))  # planted
    return torch.stack(views)


def view_by_slices(tiles, rng):
    views = tiles.new_empty(len(tiles), 3, CROP, CROP)
    for view, tile in zip(views, tiles):
        y, x = rng.integers(0, SIDE - CROP, 2)
        view.copy_(tile[:, y : y + CROP, x : x + CROP])
    return views.flip(-1) if rng.random() < 0.5 else views


class SimSiam(nn.Module):
    def __init__(self, width=6, out=64):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1), nn.ReLU(), nn.Conv2d(width, 2 * width, 3, 2, 1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(8 * width, out),
        )
        self.predictor = nn.Sequential(nn.Linear(out, 32), nn.ReLU(), nn.Linear(32, out))

    def forward(self, one, other):
        z1, z2 = self.encoder(one), self.encoder(other)
        similar = nn.functional.cosine_similarity
        return -(similar(self.predictor(z1), z2.detach()).mean() + similar(self.predictor(z2), z1.detach()).mean()) / 2


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    make_view = view_by_slices if clock.fixed else view_through_pil
    tiles, model = torch.rand(TILES, 3, SIDE, SIDE), SimSiam()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in clock.loop():
        with clock.mark(step):
            batch = tiles[torch.randint(TILES, (BATCH,))]
            loss = model(make_view(batch, rng), make_view(batch, rng))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
