import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the padding mask is filled row by row with tensor indexing",
    "cause": "a loop over the batch",
    "accept": ["python-bound", "eager-execution"],
    "rules": ["python-bound", "eager-execution"],
    "words": ["padding_mask", "fill_", "index_put_", "slice", "select"],
    "part": "develop",
}


def padding_mask(lengths, width):
    mask = torch.zeros(len(lengths), width, dtype=torch.bool)
    for row in range(len(lengths)):
        mask[row, lengths[row] :] = True  # planted
    return mask


def main(clock):
    clock.plan(2, 4)
    head = nn.Linear(16, 8)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.01)
    x = torch.randn(160, 32, 16)
    lengths = torch.randint(8, 32, (160,))
    for step in clock.loop():
        with clock.mark(step):
            if clock.fixed:
                mask = torch.arange(32)[None] >= lengths[:, None]
            else:
                mask = padding_mask(lengths, 32)
            optimizer.zero_grad()
            head(x.masked_fill(mask[..., None], 0.0).mean(1)).square().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
