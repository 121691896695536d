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
    "planted": "the client asks every 20 ms whether its answer is there; the model waits for requests",
    "cause": "sleeping back-off",
    "accept": [],
    "rules": [],
    "words": ["sleep", "ask"],
    "part": "develop",
}


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.EmbeddingBag(5000, 64)
        self.net = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 1))

    def forward(self, ids):
        return self.net(self.embed(ids)).squeeze(1)


class Service:
    def __init__(self, is_fixed):
        self.requests, self.answers, self.is_fixed = queue.Queue(), {}, is_fixed

    def ask(self, number, ids):
        done = threading.Event()
        self.requests.put((number, ids, done))
        if self.is_fixed:
            done.wait()
        while number not in self.answers:
            time.sleep(0.02)  # planted
        return self.answers.pop(number)


def client(service, count):
    for number in range(count):
        service.ask(number, torch.randint(0, 5000, (40,)))


def main(clock):
    clock.plan(3, 50)
    torch.manual_seed(0)
    model = Scorer().eval()
    service = Service(clock.fixed)
    thread = threading.Thread(target=client, args=(service, clock.last), daemon=True)
    thread.start()
    for step in clock.loop():
        with clock.mark(step):
            number, ids, done = service.requests.get()
            with torch.inference_mode():
                service.answers[number] = model(ids[None]).item()
            done.set()
    thread.join()


if __name__ == "__main__":
    run(main)
