import contextlib
import json
import queue
import random
import sys
import threading
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "four threads parse lines of JSON into bags of words, in Python, while the loop trains",
    "cause": "threads that hold the interpreter's lock",
    "accept": ["gil-contention"],
    "rules": ["gil-contention"],
    "words": ["parse", "bag_of_words", "Feeder"],
    "part": "develop",
}


def lines(n=400, seed=0):
    rng = random.Random(seed)
    return [
        json.dumps(
            {
                "text": " ".join(f"w{rng.randrange(3000)}" for _ in range(60)),
                "label": rng.randrange(4),
            }
        )
        for _ in range(n)
    ]


def bag_of_words(text, size=2048):
    out = [0.0] * size
    for word in text.split():
        h = 0
        for c in word:
            h = (h * 31 + ord(c)) % size
        out[h] += 1.0
    return out


def parse(batch):
    rows = [json.loads(line) for line in batch]
    return torch.tensor([bag_of_words(r["text"]) for r in rows]), torch.tensor(
        [r["label"] for r in rows]
    )


class Feeder:
    def __init__(self, data, workers=4, batch=16):
        self.queue, self.data, self.batch = queue.Queue(8), data, batch
        self.stop = False
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(workers)]
        for thread in self.threads:
            thread.daemon = True
            thread.start()

    def run(self, seed):
        rng = random.Random(seed)
        while not self.stop:
            batch = parse(rng.choices(self.data, k=self.batch))  # planted
            self.queue.put(batch)

    def get(self):
        return self.queue.get()

    def close(self):
        self.stop = True
        while any(thread.is_alive() for thread in self.threads):
            with contextlib.suppress(queue.Empty):
                self.queue.get(timeout=0.01)


class Ready:
    """All parsed before."""

    def __init__(self, data, batch=16):
        rng = random.Random(0)
        self.batches = [parse(rng.choices(data, k=batch)) for _ in range(12)]
        self.at = 0

    def close(self):
        pass

    def get(self):
        self.at += 1
        return self.batches[self.at % 12]


def main(clock):
    clock.plan(5, 20)
    torch.manual_seed(0)
    feeder = (Ready if clock.fixed else Feeder)(lines())
    layers = [m for _ in range(12) for m in (nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU())]
    model = nn.Sequential(nn.Linear(2048, 64), *layers, nn.Linear(64, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    for step in clock.loop():
        with clock.mark(step):
            x, y = feeder.get()
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    feeder.close()


if __name__ == "__main__":
    run(main)
