"""A server for image embeddings that batches requests: three clients ask and wait."""
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
    "planted": "the batcher waits 25 ms for a batch of sixteen, though there are three clients, all of which wait for their answers",
    "cause": "waiting for what does not come",
    "accept": ["largest-part", "host-waits", "idle-device", "input-bound", "python-bound"],
    "rules": ["host-waits", "idle-device", "input-bound", "python-bound"],
    "words": ["collect_batch", "patience"],
    "part": "develop",
}

CLIENTS, LARGEST, SIDE = 3, 16, 64


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        widths = (3, 24, 48, 96, 96)
        self.layers = nn.Sequential(*[nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.ReLU(), nn.Conv2d(b, b, 3, padding=1), nn.ReLU()) for a, b in zip(widths, widths[1:])])

    def forward(self, x):
        return nn.functional.normalize(self.layers(x).mean((2, 3)))


class Batcher:
    def __init__(self, patience):
        self.requests, self.patience = queue.Queue(), patience

    def ask(self, image):
        answer = queue.Queue(1)
        self.requests.put((image, answer))
        return answer.get()

    def collect_batch(self):
        batch = [self.requests.get()]
        until = time.monotonic() + self.patience
        while len(batch) < LARGEST:
            try:
                batch.append(self.requests.get(timeout=max(until - time.monotonic(), 0)))  # planted
            except queue.Empty:
                break
        return batch


def client(batcher, stop):
    image = torch.rand(3, SIDE, SIDE)
    while not stop.is_set():
        batcher.ask(image)


@torch.inference_mode()
def serve(batcher, model, clock):
    for step in clock.loop():
        with clock.mark(step, "batch"):
            images, answers = zip(*batcher.collect_batch())
            for answer, vector in zip(answers, model(torch.stack(images))):
                answer.put(vector)


def main(clock):
    clock.plan(4, 6)
    torch.manual_seed(0)
    batcher, stop = Batcher(patience=0.002 if clock.fixed else 0.025), threading.Event()
    for _ in range(CLIENTS):
        threading.Thread(target=client, args=(batcher, stop), daemon=True).start()
    serve(batcher, Encoder().eval(), clock)
    stop.set()


if __name__ == "__main__":
    run(main)
