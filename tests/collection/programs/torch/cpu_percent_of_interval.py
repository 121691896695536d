import json
import os
import sys
import time
from pathlib import Path

import psutil
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the step log asks psutil.cpu_percent(interval=0.06), which sleeps so long",
    "cause": "a wait in each step",
    "accept": ["largest-part", "python-bound", "print-every-step"],
    "rules": ["python-bound"],
    "words": [
        "cpu_percent",
        "psutil",
        "SystemMonitor",
        "time.sleep",
        "built-in function sleep",
    ],
    "part": "develop",
}


class SystemMonitor:
    """What the machine does, for the log."""

    def __init__(self, interval):
        self.interval = interval
        self.process = psutil.Process(os.getpid())

    def poll_system(self):
        return {
            "cpu": psutil.cpu_percent(interval=self.interval),  # planted
            "rss_mb": self.process.memory_info().rss / 2**20,
        }


class JsonLogger:
    def __init__(self, path, monitor):
        self.file = open(path, "w")  # noqa: SIM115 -- kept for the whole run
        self.monitor, self.started = monitor, time.time()

    def log(self, step, **values):
        record = {"step": step, "time": time.time() - self.started, **values}
        self.file.write(json.dumps({**record, **self.monitor.poll_system()}) + "\n")

    def close(self):
        self.file.close()


class ConvVAE(nn.Module):
    def __init__(self, latent=32, width=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, 2 * width, 4, 2, 1), nn.ReLU(),
            nn.Flatten(),
        )  # fmt: skip
        self.to_stats = nn.Linear(2 * width * 64, 2 * latent)
        self.from_code = nn.Linear(latent, 2 * width * 64)
        self.decoder = nn.Sequential(
            nn.Unflatten(1, (2 * width, 8, 8)),
            nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(width, 3, 4, 2, 1),
        )  # fmt: skip

    def forward(self, x):
        mean, logvar = self.to_stats(self.encoder(x)).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * torch.exp(0.5 * logvar)
        return self.decoder(F.relu(self.from_code(code))), mean, logvar


def elbo(logits, x, mean, logvar, beta):
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
    kl = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(1).mean()
    return reconstruction + beta * kl, kl


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = ConvVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    monitor = SystemMonitor(interval=None if clock.fixed else 0.06)
    logger = JsonLogger(clock.folder + "/log.jsonl", monitor)
    images = torch.rand(512, 3, 32, 32)
    for step in clock.loop():
        with clock.mark(step):
            x = images[step * 48 % 480 :][:48]
            logits, mean, logvar = model(x)
            loss, kl = elbo(logits, x, mean, logvar, beta=min(1.0, step / 1000))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            logger.log(step, loss=loss.item(), kl=kl.item())
    logger.close()


if __name__ == "__main__":
    run(main)
