import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


class Seq2Seq(nn.Module):
    def __init__(self, vocabulary=1000, width=128):
        super().__init__()
        self.source, self.target = nn.Embedding(vocabulary, width), nn.Embedding(vocabulary, width)
        self.place = nn.Parameter(0.02 * torch.randn(64, width))
        self.transformer = nn.Transformer(width, 4, 2, 2, 256, batch_first=True, dropout=0.0)
        self.out = nn.Linear(width, vocabulary)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(31))

    def forward(self, source, target):
        source = self.source(source) + self.place[: source.shape[1]]
        target = self.target(target) + self.place[: target.shape[1]]
        return self.out(self.transformer(source, target, tgt_mask=self.mask))


def main(clock):
    clock.plan(2, 3)
    torch.manual_seed(0)
    model = Seq2Seq()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 100))
    data = torch.randint(0, 1000, (512, 2, 32))
    running = torch.zeros(())
    for step in clock.loop():
        with clock.mark(step):
            batch = data[torch.randint(0, 512, (32,))]
            source, target = batch[:, 0], batch[:, 1]
            logits = model(source, target[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            running = 0.98 * running + 0.02 * loss.detach()
        if step % 100 == 99:
            print(float(running))


if __name__ == "__main__":
    run(main)
