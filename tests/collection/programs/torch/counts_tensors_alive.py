"""Sentiment of tweets with a small GRU; a look at memory in each line of the log."""
import gc
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the log counts the tensors that are alive, by asking each object that the garbage collector knows",
    "cause": "a debugging aid left on",
    "accept": ["largest-part", "python-bound"],
    "rules": ["python-bound"],
    "words": ["tensors_alive", "get_objects", "is_tensor", "gc."],
    "part": "develop",
}

WORDS, WIDTH, LENGTH, BATCH = 5000, 192, 24, 96


def tensors_alive():
    """From the forum: find what leaks."""
    count, size = 0, 0
    for one in gc.get_objects():  # planted
        if torch.is_tensor(one):  # planted
            count, size = count + 1, size + one.nelement() * one.element_size()
    return count, size / 2**20


class Sentiment(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH, padding_idx=0)
        self.gru = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, tokens):
        _, last = self.gru(self.embed(tokens))
        return self.head(last[0])


class Log:
    def __init__(self, path, with_memory):
        self.file, self.with_memory = open(path, "w"), with_memory

    def write_line(self, step, loss):
        line = f"{step} loss {loss:.4f}"
        if self.with_memory:
            count, size = tensors_alive()  # planted
            line += f" tensors {count} MiB {size:.1f}"
        self.file.write(line + "\n")


def load_tweets(n):
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, WORDS, (n, LENGTH), generator=generator)
    records = [{"id": i, "user": f"u{i % 700}", "tags": [], "meta": {"lang": "en"}} for i in range(n)]
    return tokens, torch.randint(3, (n,), generator=generator), records


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    tokens, labels, records = load_tweets(8_000)
    model = Sentiment()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
    log = Log(Path(clock.folder) / "train.log", with_memory=not clock.fixed)
    for step in clock.loop():
        with clock.mark(step):
            rows = torch.randint(len(records), (BATCH,))
            loss = nn.functional.cross_entropy(model(tokens[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.write_line(step, loss.item())


if __name__ == "__main__":
    run(main)
