"""Actions in short videos (MJPEG), eight frames of each clip."""
import io
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "all 32 frames of a clip are decoded, of which every eighth is kept",
    "cause": "input",
    "accept": ["largest-part", "input-bound", "loader-workers", "python-in-pipeline", "python-bound", "host-input-limit"],
    "rules": ["input-bound", "loader-workers", "python-in-pipeline", "python-bound", "host-input-limit"],
    "words": ["Clips", "decode", "PIL", "__getitem__", "enumerate(DataLoader)"],
    "part": "develop",
}

FRAMES, STRIDE, SIDE, CLIPS = 32, 8, 112, 24


def make_clip(rng):
    background = rng.integers(0, 255, (14, 14, 3), dtype="uint8")
    frames = []
    for t in range(FRAMES):
        image = Image.fromarray(np.roll(background, t, 1)).resize((SIDE, SIDE))
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=85)
        frames.append(buffer.getvalue())
    return frames


def decode(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


class Clips(Dataset):
    def __init__(self, clips, labels, choose_first):
        self.clips, self.labels, self.choose_first = clips, labels, choose_first

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, i):
        frames = self.clips[i]
        if self.choose_first:
            video = np.stack([decode(data) for data in frames[::STRIDE]])
        else:
            video = np.stack([decode(data) for data in frames])[::STRIDE]  # planted
        return torch.from_numpy(video).permute(3, 0, 1, 2).float().div_(255), self.labels[i]


class R3D(nn.Module):
    def __init__(self, classes=12):
        super().__init__()
        self.stem = nn.Conv3d(3, 16, (1, 7, 7), (1, 4, 4), (0, 3, 3))
        self.body = nn.Sequential(nn.ReLU(), nn.Conv3d(16, 32, 3, (1, 2, 2), 1), nn.ReLU(), nn.Conv3d(32, 48, 3, 2, 1), nn.ReLU())
        self.head = nn.Linear(48, classes)

    def forward(self, x):
        return self.head(self.body(self.stem(x)).mean((2, 3, 4)))


def main(clock):
    clock.plan(1, 3)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    clips = [make_clip(rng) for _ in range(CLIPS)]
    dataset = Clips(clips, torch.randint(12, (CLIPS,)), choose_first=clock.fixed)
    loader = DataLoader(dataset, batch_size=4, shuffle=True)
    model, loss_fn = R3D(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    for step, (x, y) in enumerate(loader):
        if clock.tick(step):
            break
        with clock.mark(step):
            loss = loss_fn(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
