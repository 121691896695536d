import logging
import sys
import warnings
from pathlib import Path

import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from pytorch_lightning.callbacks import Callback, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "Lightning's ModelCheckpoint has every_n_train_steps=1, and saves model and Adam after each batch",
    "cause": "checkpoints too often",
    "accept": ["largest-part", "slow-steps", "python-bound"],
    "rules": ["slow-steps"],
    "words": [
        "ModelCheckpoint",
        "save_checkpoint",
        "_save_last_checkpoint",
        "atomic_save",
        "_atomic_save",
        "torch.save",
    ],
    "part": "develop",
}

warnings.filterwarnings("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)


class LitAutoEncoder(pl.LightningModule):
    def __init__(self, width=1024, code=32, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.encoder = nn.Sequential(
            nn.Linear(784, width), nn.ReLU(), nn.Linear(width, 128), nn.ReLU(), nn.Linear(128, code)
        )
        self.decoder = nn.Sequential(
            nn.Linear(code, 128), nn.ReLU(), nn.Linear(128, width), nn.ReLU(), nn.Linear(width, 784)
        )

    def training_step(self, batch, batch_idx):
        (x,) = batch
        x = x.flatten(1)
        loss = F.mse_loss(self.decoder(self.encoder(x)), x)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


class Watch(Callback):
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


def saves_into(folder, often):
    return ModelCheckpoint(
        dirpath=folder,
        filename="autoencoder-{step}",
        every_n_train_steps=1 if often else 1000,  # planted
        save_on_train_epoch_end=False,
    )


def main(clock):
    clock.plan(3, 3)
    pl.seed_everything(0)
    data = TensorDataset(torch.rand(4096, 28, 28))
    loader = DataLoader(data, batch_size=256, shuffle=False, collate_fn=None)
    trainer = pl.Trainer(
        accelerator="cpu",
        max_steps=clock.last,
        max_epochs=-1,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=clock.folder,
        callbacks=[Watch(clock), saves_into(clock.folder + "/checkpoints", not clock.fixed)],
    )
    trainer.fit(LitAutoEncoder(), loader)


if __name__ == "__main__":
    run(main)
