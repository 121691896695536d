import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the hidden state keeps the graph of all chunks before: each backward goes to the first",
    "cause": "a graph that grows",
    "accept": ["trend", "growing-steps", "memory-growth"],
    "rules": ["uneven-steps", "slow-steps"],
    "words": ["train_chunk"],
    "part": "develop",
}


class CharRNN(nn.Module):
    def __init__(self, vocabulary=80, size=128):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, size)
        self.rnn = nn.GRU(size, size)
        self.head = nn.Linear(size, vocabulary)

    def forward(self, text, hidden):
        out, hidden = self.rnn(self.embed(text), hidden)
        return self.head(out), hidden


def train_chunk(model, optimizer, text, hidden):
    logits, hidden = model(text[:-1], hidden)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[1:].flatten())
    optimizer.zero_grad()
    loss.backward(retain_graph=True)  # planted
    return loss, hidden


def main(clock):
    clock.plan(2, 4)
    torch.manual_seed(0)
    model = CharRNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    text = torch.randint(0, 80, (9, 64))
    hidden = torch.zeros(1, 64, 128)
    for step in clock.loop():
        with clock.mark(step, "chunk"):
            loss, hidden = train_chunk(model, optimizer, text, hidden.detach() if clock.fixed else hidden)
            if step % 20 == 19:
                optimizer.step()


if __name__ == "__main__":
    run(main)
