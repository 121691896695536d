"""A convolutional net and a CRF for names in text."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the CRF's forward algorithm goes through the next tags one by one, with a few tiny ops for each word and tag",
    "cause": "many tiny ops",
    "accept": ["largest-part", "eager-execution", "tiny-kernels", "launch-bound", "python-bound", "tiny-ops", "unfused-ops"],
    "rules": ["eager-execution", "tiny-kernels", "launch-bound", "python-bound", "tiny-ops", "unfused-ops"],
    "words": ["forward_alg", "log_sum_exp", "aten::logsumexp"],
    "part": "develop",
}

VOCAB, TAGS, LENGTH = 4000, 7, 8


class ConvCRF(nn.Module):
    def __init__(self, dim=64, hidden=128, at_once=False):
        super().__init__()
        self.words = nn.Embedding(VOCAB, dim)
        self.conv = nn.Conv1d(dim, hidden, 3, padding=1)
        self.tag = nn.Linear(hidden, TAGS)
        self.transitions = nn.Parameter(torch.randn(TAGS, TAGS))
        self.at_once = at_once

    def forward_alg(self, feats):
        alpha = feats[:, 0]
        for feat in feats.unbind(1)[1:]:
            if self.at_once:
                alpha = feat + torch.logsumexp(alpha[:, None] + self.transitions, -1)
                continue
            alphas = []
            for next_tag in range(TAGS):
                scores = alpha + self.transitions[next_tag] + feat[:, next_tag, None]  # planted
                alphas.append(torch.logsumexp(scores, 1))  # planted
            alpha = torch.stack(alphas, 1)
        return torch.logsumexp(alpha, 1)

    def score_of(self, feats, tags):
        emitted = feats.gather(2, tags[..., None])[..., 0].sum(1)
        return emitted + self.transitions[tags[:, 1:], tags[:, :-1]].sum(1)

    def neg_log_likelihood(self, words, tags):
        feats = self.tag(self.conv(self.words(words).mT).relu().mT)
        return (self.forward_alg(feats) - self.score_of(feats, tags)).mean()


def main(clock):
    clock.plan(3, 2)
    torch.manual_seed(0)
    model = ConvCRF(at_once=clock.fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, weight_decay=1e-4)
    words, tags = torch.randint(VOCAB, (20, 24, LENGTH)), torch.randint(TAGS, (20, 24, LENGTH))
    for step in clock.loop():
        with clock.mark(step):
            model.zero_grad()
            loss = model.neg_log_likelihood(words[step], tags[step])
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
