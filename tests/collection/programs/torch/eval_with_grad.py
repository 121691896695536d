import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "validation after each fourth batch builds the graph for backward and keeps it with the losses of all its batches",
    "cause": "gradients recorded where none are needed",
    "accept": ["largest-part", "memory-growth", "unused-gradients"],
    "rules": ["memory-growth"],
    "words": ["validation_step", "run_validation"],
    "part": "develop",
}


class LitModule(nn.Module):
    """The part of Lightning that we need, without the dependency."""

    def __init__(self):
        super().__init__()
        self.logged = {}

    def log(self, name, value):
        self.logged.setdefault(name, []).append(value)


class LitSegmenter(LitModule):
    def __init__(self, channels=48, lr=1e-3):
        super().__init__()
        self.lr = lr
        layers, inputs = [], 3
        for _ in range(3):
            layers += [nn.Conv2d(inputs, channels, 3, padding=1), nn.GroupNorm(4, channels), nn.SiLU()]
            inputs = channels
        self.body = nn.Sequential(*layers)
        self.head = nn.Conv2d(channels, 4, 1)

    def forward(self, x):
        return self.head(self.body(x))

    def training_step(self, batch):
        images, masks = batch
        loss = F.cross_entropy(self(images), masks)
        self.log("train_loss", loss.detach())
        return loss

    def validation_step(self, batch):
        images, masks = batch
        logits = self(images)
        return {"loss": F.cross_entropy(logits, masks), "logits": logits}

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


class Trainer:
    def __init__(self, clock, val_check_interval=4):
        self.clock, self.val_check_interval = clock, val_check_interval

    def run_validation(self, module, loader):
        module.eval()
        outputs = []
        for batch in loader:
            outputs.append(module.validation_step(batch))  # planted
        module.log("val_loss", torch.stack([o["loss"] for o in outputs]).mean())
        module.train()

    def fit(self, module, train_loader, val_loader):
        clock, optimizer = self.clock, module.configure_optimizers()
        validate = torch.no_grad()(self.run_validation) if clock.fixed else self.run_validation
        for step in clock.loop():
            with clock.mark(step):
                loss = module.training_step(train_loader[step % len(train_loader)])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if (step + 1) % self.val_check_interval == 0:
                    validate(module, val_loader)


def main(clock):
    clock.plan(4, 8)
    torch.manual_seed(0)

    def batches(count, size):
        return [
            (torch.rand(size, 3, 48, 48), torch.randint(0, 4, (size, 48, 48))) for _ in range(count)
        ]

    Trainer(clock).fit(LitSegmenter(), batches(4, 4), batches(6, 16))


if __name__ == "__main__":
    run(main)
