"""Translation: a convolutional encoder, an attending GRU (Bahdanau), teacher forcing."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "attention projects the encoder's states again for each token of the decoder",
    "cause": "work done again",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["BahdanauAttention", "Ua", "aten::addmm"],
    "part": "develop",
}


class BahdanauAttention(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.Wa, self.Ua, self.Va = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 1)

    def forward(self, query, states, keys=None):
        if keys is None:
            keys = self.Ua(states)  # planted
        weights = self.Va(torch.tanh(self.Wa(query)[:, None] + keys)).squeeze(-1).softmax(-1)
        return torch.bmm(weights[:, None], states).squeeze(1)


class Decoder(nn.Module):
    def __init__(self, vocab, hidden, project_once):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        self.attention = BahdanauAttention(hidden)
        self.cell = nn.GRUCell(2 * hidden, hidden)
        self.out = nn.Linear(hidden, vocab)
        self.project_once = project_once

    def forward(self, tokens, states, hidden):
        keys = self.attention.Ua(states) if self.project_once else None
        outputs = []
        for token in self.embedding(tokens).unbind(1):
            context = self.attention(hidden, states, keys)
            hidden = self.cell(torch.cat([token, context], -1), hidden)
            outputs.append(hidden)
        return self.out(torch.stack(outputs, 1))


class Translator(nn.Module):
    def __init__(self, vocab=1500, hidden=256, project_once=False):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        self.encoder = nn.Sequential(nn.Conv1d(hidden, hidden, 3, padding=1), nn.ReLU())
        self.decoder = Decoder(vocab, hidden, project_once)

    def forward(self, source, target):
        states = self.encoder(self.embedding(source).mT).mT
        return self.decoder(target, states, states.mean(1))


def main(clock):
    clock.plan(2, 2)
    torch.manual_seed(0)
    model = Translator(project_once=clock.fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    source, target = torch.randint(1500, (12, 12, 32)), torch.randint(1500, (12, 12, 8))
    for step in clock.loop():
        with clock.mark(step):
            logits = model(source[step], target[step, :, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), target[step, :, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
