import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def main(clock):
    clock.plan(3, 5)
    layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True, dropout=0.0)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    head = nn.Linear(128, 128)
    optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-3)
    x = torch.randn(16, 64, 128)
    for step in clock.loop():
        with clock.mark(step):
            optimizer.zero_grad(set_to_none=True)
            loss = ((head(model(x)) - x) ** 2).mean()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
