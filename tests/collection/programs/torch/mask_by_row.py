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
        for at in range(width):
            if at >= lengths[row]:  # planted
                mask[row, at] = True  # planted
    return mask


def main(clock):
    clock.plan(2, 4)
    model = nn.MultiheadAttention(64, 4, batch_first=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(8, 24, 64)
    lengths = torch.randint(4, 24, (8,))
    for step in clock.loop():
        with clock.mark(step):
            if clock.fixed:
                mask = torch.arange(24)[None] >= lengths[:, None]
            else:
                mask = padding_mask(lengths, 24)
            optimizer.zero_grad()
            model(x, x, x, key_padding_mask=mask)[0].square().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
