import sys
import zlib
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "frames are kept compressed and unpacked and packed again in every step",
    "cause": "compression on the host",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["pack", "unpack", "compress", "zlib"],
    "part": "develop",
}


def pack(frame):
    return zlib.compress(frame.tobytes())  # planted


def unpack(data):
    return np.frombuffer(zlib.decompress(data), np.uint8).reshape(84, 84)


def main(clock):
    clock.plan(3, 6)
    frames = [np.random.randint(0, 32, (84, 84)).astype(np.uint8) for _ in range(32)]
    store = [pack(frame) for frame in frames]
    model = nn.Sequential(nn.Conv2d(1, 8, 8, stride=4), nn.ReLU(), nn.Flatten(), nn.Linear(3200, 6))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for step in clock.loop():
        with clock.mark(step):
            if clock.fixed:
                batch = np.stack(frames)
            else:
                batch = np.stack([unpack(data) for data in store])
                store = [pack(frame) for frame in batch]
            optimizer.zero_grad()
            x = torch.from_numpy(batch).float()[:, None] / 255.0
            model(x).square().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
