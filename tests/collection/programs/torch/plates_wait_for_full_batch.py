"""Reads number plates for the gates of a car park: the gates' threads ask, one thread answers."""
import queue
import sys
import threading
import time
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the reader waits up to 30 ms for twelve plates, though there are five gates, and all of them wait for their answers",
    "cause": "waiting for what does not come",
    "accept": ["largest-part", "host-waits", "idle-device", "input-bound", "python-bound"],
    "rules": ["host-waits", "idle-device", "input-bound", "python-bound"],
    "words": ["next_plates", "hold_ms"],
    "part": "develop",
}

GATES, FULL, SIGNS, LETTERS = 5, 12, 37, 8


class PlateNet(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = (1, 24, 48, 64)
        layers = []
        for a, b in zip(sizes, sizes[1:]):
            layers += [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.MaxPool2d(2)]
        self.cnn = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d((1, LETTERS))
        self.head = nn.Linear(sizes[-1], SIGNS)

    def forward(self, x):
        return self.head(self.pool(self.cnn(x)).squeeze(2).transpose(1, 2))


class PlateReader(threading.Thread):
    def __init__(self, clock, hold_ms):
        super().__init__(name="plate-reader", daemon=True)
        self.clock, self.hold_ms = clock, hold_ms
        self.crops = queue.Queue()
        self.net = PlateNet().eval()
        self.finished = False

    def read(self, crop):
        reply = queue.SimpleQueue()
        self.crops.put((crop, reply))
        return reply.get()

    def next_plates(self):
        plates = [self.crops.get()]
        give_up = time.monotonic() + self.hold_ms / 1000
        while len(plates) < FULL:
            left = give_up - time.monotonic()
            if left <= 0:
                break
            try:
                plates.append(self.crops.get(timeout=left))  # planted
            except queue.Empty:
                break
        return plates

    @torch.inference_mode()
    def run(self):
        for step in self.clock.loop():
            with self.clock.mark(step, "plates"):
                plates = self.next_plates()
                scores = self.net(torch.stack([crop for crop, _ in plates]))
                for (_, reply), letters in zip(plates, scores.argmax(2).tolist()):
                    reply.put(letters)
        self.finished = True


def gate(reader, number):
    drawn = torch.Generator().manual_seed(number)
    while not reader.finished:
        frame = torch.rand(1, 48, 160, generator=drawn)
        reader.read((frame - frame.mean()) / frame.std())


def main(clock):
    clock.plan(4, 12)
    torch.manual_seed(0)
    reader = PlateReader(clock, hold_ms=1 if clock.fixed else 30)
    reader.start()
    for number in range(GATES):
        threading.Thread(target=gate, args=(reader, number), name=f"gate-{number}", daemon=True).start()
    while not reader.finished:
        time.sleep(0.05)


if __name__ == "__main__":
    run(main)
