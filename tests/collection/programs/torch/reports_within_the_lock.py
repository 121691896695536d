import io
import json
import os
import sys
import threading
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each request's report is written and synced to disk within the lock that all requests take",
    "cause": "lock contention",
    "accept": ["python-bound"],
    "rules": [],
    "words": ["fsync", "lock", "report", "write"],
    "part": "develop",
}
WORKERS = 4


class Desk:
    """Scores applications on threads of its own, one after the other for the model's sake."""

    def __init__(self, folder, is_fixed):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(300, 256), nn.ReLU(), nn.Linear(256, 1)).eval()
        self.lock, self.folder, self.is_fixed = threading.Lock(), folder, is_fixed
        self.done = threading.Semaphore(0)

    def report(self, number, score):
        path = Path(self.folder) / f"report{threading.get_ident()}.json"
        with io.open(path, "w") as file:
            json.dump({"number": number, "score": score}, file)
            file.flush()
            for _ in range(4):
                os.fsync(file.fileno())

    def score(self, number):
        with self.lock:
            x = torch.randn(16, 300)
            with torch.inference_mode():
                score = float(self.model(x).mean())
            if not self.is_fixed:
                self.report(number, score)  # planted
        self.done.release()


def work(desk, numbers):
    for number in numbers:
        desk.score(number)


def main(clock):
    clock.plan(2, 20)
    desk = Desk(clock.folder, clock.fixed)
    for step in clock.loop():
        with clock.mark(step):
            threads = [
                threading.Thread(target=work, args=(desk, range(5)), name=f"desk-{at}", daemon=True)
                for at in range(WORKERS)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()


if __name__ == "__main__":
    run(main)
