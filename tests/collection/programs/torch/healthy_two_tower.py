import sys
from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": None,
    "cause": "healthy",
    "accept": [],
    "rules": [],
    "words": [],
    "part": "develop",
}


@dataclass
class TrainingArguments:
    batch_size: int = 1024
    embedding: int = 64
    hidden: list = field(default_factory=lambda: [512, 256])
    temperature: float = 0.05
    learning_rate: float = 0.05
    max_steps: int = 10_000


class Tower(nn.Module):
    def __init__(self, ids, args):
        super().__init__()
        self.table = nn.EmbeddingBag(ids, args.embedding, mode="mean", sparse=True)
        layers, width = [], args.embedding
        for hidden in args.hidden:
            layers += [nn.Linear(width, hidden), nn.ReLU()]
            width = hidden
        self.mlp = nn.Sequential(*layers, nn.Linear(width, 128))

    def forward(self, bags):
        return F.normalize(self.mlp(self.table(bags)), dim=-1)


class TwoTower(nn.Module):
    def __init__(self, users, items, args):
        super().__init__()
        self.user, self.item = Tower(users, args), Tower(items, args)
        self.temperature = args.temperature

    def forward(self, history, items):
        scores = self.user(history) @ self.item(items).T / self.temperature
        return F.cross_entropy(scores, torch.arange(len(scores)))


class Trainer:
    """After Hugging Face's: arguments, a loop, callbacks."""

    def __init__(self, model, args, train_dataset, callbacks=()):
        self.model, self.args, self.data = model, args, train_dataset
        tables = [p for n, p in model.named_parameters() if "table" in n]
        dense = [p for n, p in model.named_parameters() if "table" not in n]
        self.optimizers = [
            torch.optim.SGD(tables, lr=args.learning_rate),
            torch.optim.SGD(dense, lr=args.learning_rate, momentum=0.9),
        ]
        self.callbacks = callbacks
        self.total = torch.zeros(())

    def training_step(self, batch):
        loss = self.model(*batch)
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
        self.total += loss.detach()

    def train(self, clock):
        history, items = self.data
        size = self.args.batch_size
        for step in clock.loop():
            with clock.mark(step):
                at = step * size % len(items)
                self.training_step((history[at : at + size], items[at : at + size]))


def main(clock):
    clock.plan(2, 6)
    torch.manual_seed(0)
    args = TrainingArguments()
    data = torch.randint(0, 20_000, (8192, 20)), torch.randint(0, 50_000, (8192, 1))
    Trainer(TwoTower(20_000, 50_000, args), args, data).train(clock)


if __name__ == "__main__":
    run(main)
