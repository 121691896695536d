"""A small net for the edge: Lightning, with a callback that keeps a tenth of the weights."""
import logging
import sys
import warnings
from pathlib import Path

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the callback sorts all weights for a new threshold of magnitude after every batch, not after an epoch",
    "cause": "upkeep in each step",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["MagnitudePruning", "prune", "aten::sort", "kthvalue"],
    "part": "score",
}

warnings.filterwarnings("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)


class MagnitudePruning(pl.Callback):
    def __init__(self, keep=0.1, every=1):
        self.keep, self.every = keep, every
        self.masks = {}

    @torch.no_grad()
    def prune(self, module):
        weights = {name: p for name, p in module.named_parameters() if p.dim() > 1}
        sizes = torch.cat([p.abs().flatten() for p in weights.values()])
        threshold = sizes.sort(descending=True).values[int(self.keep * len(sizes))]  # planted
        self.masks = {name: p.abs() > threshold for name, p in weights.items()}

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.global_step % self.every == 0:
            self.prune(module)
        with torch.no_grad():
            for name, p in module.named_parameters():
                if name in self.masks:
                    p.mul_(self.masks[name])


class Gestures(pl.LightningModule):
    def __init__(self, channels=6, length=64, classes=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(channels, 32, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
            nn.Flatten(), nn.Linear(32 * length // 2, 192), nn.ReLU(), nn.Linear(192, classes),
        )

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Watch(pl.Callback):
    def __init__(self, clock):
        self.clock, self.inside = clock, None

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        if self.inside is not None:
            self.inside.__exit__(None, None, None)
        self.clock.tick(trainer.global_step)
        self.inside = self.clock.mark(trainer.global_step)
        self.inside.__enter__()

    def on_train_end(self, trainer, module):
        self.inside.__exit__(None, None, None)
        self.clock.tick(self.clock.last)


def main(clock):
    clock.plan(3, 3)
    pl.seed_everything(0)
    data = TensorDataset(torch.randn(2560, 6, 64), torch.randint(12, (2560,)))
    trainer = pl.Trainer(
        accelerator="cpu",
        max_steps=clock.last,
        max_epochs=-1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=clock.folder,
        callbacks=[Watch(clock), MagnitudePruning(every=10_000 if clock.fixed else 1)],
    )
    trainer.fit(Gestures(), DataLoader(data, batch_size=256, shuffle=True))


if __name__ == "__main__":
    run(main)
