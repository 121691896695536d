"""Sentences that belong together, by a contrastive loss."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the contrastive loss goes over its anchors one by one, each with a similarity to all others and a loss of its own",
    "cause": "a loop over samples",
    "accept": ["largest-part", "eager-execution", "tiny-ops", "launch-bound"],
    "rules": ["eager-execution", "tiny-ops", "launch-bound"],
    "words": ["info_nce", "aten/cosine_similarity", "cosine_similarity"],
    "part": "develop",
}


class Encoder(nn.Module):
    def __init__(self, words=2000, width=64):
        super().__init__()
        self.words = nn.EmbeddingBag(words, width)
        self.net = nn.Sequential(nn.Linear(width, 96), nn.GELU(), nn.Linear(96, width))

    def forward(self, ids):
        return self.net(self.words(ids))


def info_nce(one, two, is_fixed, temperature=0.07):
    if is_fixed:
        score = F.normalize(one, dim=1) @ F.normalize(two, dim=1).T / temperature
        return F.cross_entropy(score, torch.arange(len(one)))
    losses = []
    for at in range(len(one)):
        score = F.cosine_similarity(one[at].unsqueeze(0), two) / temperature  # planted
        losses.append(F.cross_entropy(score.unsqueeze(0), torch.tensor([at])))  # planted
    return torch.stack(losses).mean()


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in clock.loop():
        with clock.mark(step):
            one, two = torch.randint(0, 2000, (2, 48, 16))
            loss = info_nce(model(one), model(two), clock.fixed)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
