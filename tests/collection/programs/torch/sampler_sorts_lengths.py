"""Sentiment of reviews of many lengths: batches of similar length, an LSTM."""
import random
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, Sampler

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the batch sampler sorts all reviews by their length again for each batch it cuts out",
    "cause": "input",
    "accept": ["largest-part", "input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "loader-workers"],
    "rules": ["input-bound", "python-bound", "python-in-pipeline", "host-input-limit", "loader-workers"],
    "words": ["SimilarLengths", "length_of", "by_length", "sorted"],
    "part": "develop",
}

REVIEWS, WORDS, WIDTH, BATCH = 60_000, 4000, 64, 16


class Reviews(Dataset):
    def __init__(self):
        draw = random.Random(0)
        self.text = torch.randint(1, WORDS, (REVIEWS + 200,))
        self.lengths = [draw.randint(10, 60) for _ in range(REVIEWS)]
        self.labels = torch.randint(2, (REVIEWS,)).float()

    def __len__(self):
        return REVIEWS

    def length_of(self, i):
        return self.lengths[i]

    def __getitem__(self, i):
        return self.text[i : i + self.lengths[i]], self.labels[i]


class SimilarLengths(Sampler):
    def __init__(self, dataset, sort_once):
        self.dataset, self.draw = dataset, random.Random(1)
        self.order = self.by_length() if sort_once else None

    def by_length(self):
        return sorted(range(len(self.dataset)), key=self.dataset.length_of)  # planted

    def __len__(self):
        return len(self.dataset) // BATCH

    def __iter__(self):
        for _ in range(len(self)):
            order = self.order if self.order is not None else self.by_length()
            start = self.draw.randrange(len(order) - BATCH)
            yield order[start : start + BATCH]


def collate(rows):
    texts, labels = zip(*rows)
    return pad_sequence(texts, batch_first=True), torch.stack(labels)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm, self.head = nn.Embedding(WORDS, WIDTH, padding_idx=0), nn.LSTM(WIDTH, WIDTH, batch_first=True), nn.Linear(WIDTH, 1)

    def forward(self, x):
        return self.head(self.lstm(self.embed(x))[0].mean(1))[:, 0]


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    dataset = Reviews()
    loader = DataLoader(dataset, batch_sampler=SimilarLengths(dataset, sort_once=clock.fixed), collate_fn=collate)
    model, loss_fn = Classifier(), nn.BCEWithLogitsLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step, (x, y) in enumerate(loader):
        if clock.tick(step):
            break
        with clock.mark(step):
            loss = loss_fn(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
