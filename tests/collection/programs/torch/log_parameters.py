import logging
import os
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "statistics of every parameter go to a log file that is flushed each time",
    "cause": "logging in the loop",
    "accept": ["python-bound", "print-every-step"],
    "rules": ["python-bound", "print-every-step"],
    "words": ["log_parameters", "fsync", "logging", "emit"],
    "part": "develop",
}


class Synced(logging.FileHandler):
    def emit(self, record):
        super().emit(record)
        os.fsync(self.stream.fileno())  # planted


def log_parameters(logger, model):
    for name, one in model.named_parameters():
        logger.info("%s mean %.6f std %.6f", name, one.mean().item(), one.std().item())  # planted


def main(clock):
    clock.plan(2, 5)
    layers = []
    for _ in range(6):
        layers += [nn.Linear(64, 64), nn.Tanh()]
    model = nn.Sequential(*layers)
    logger = logging.getLogger("parameters")
    logger.setLevel(logging.INFO)
    logger.addHandler(Synced(clock.folder + "/parameters.log"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(64, 64)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad()
            (model(x) - x).square().mean().backward()
            optimizer.step()
            if not clock.fixed:
                log_parameters(logger, model)


if __name__ == "__main__":
    run(main)
