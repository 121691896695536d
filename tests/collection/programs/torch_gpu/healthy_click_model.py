"""Whether an advertisement is clicked: DLRM on columns that lie on the device."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
ROWS, BATCH, NUMBERS, FIELDS, WIDTH = (400000, 32768, 13, 26, 64) if BIG else (500, 64, 13, 26, 8)
WORDS = 20000 if BIG else 50


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU(inplace=True)]
    return layers


class ClickModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(FIELDS * WORDS, WIDTH)
        self.register_buffer("first", WORDS * torch.arange(FIELDS))
        self.low = nn.Sequential(*mlp(NUMBERS, 512, 256, WIDTH))
        self.register_buffer("pairs", torch.triu_indices(FIELDS + 1, FIELDS + 1, 1)[0] * (FIELDS + 1) + torch.triu_indices(FIELDS + 1, FIELDS + 1, 1)[1])
        self.high = nn.Sequential(*mlp(WIDTH + FIELDS * (FIELDS + 1) // 2, 1024, 512, 256), nn.Linear(256, 1))

    def forward(self, numbers, words):
        low = self.low(numbers)
        fields = torch.cat([low[:, None], self.table(words + self.first).to(low.dtype)], 1)
        crossed = torch.bmm(fields, fields.mT).flatten(1).index_select(1, self.pairs)
        return self.high(torch.cat([low, crossed], 1)).squeeze(1)


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        model = ClickModel()
        numbers, words = torch.rand(ROWS, NUMBERS), torch.randint(WORDS, (ROWS, FIELDS))
        clicks = torch.rand(ROWS).lt(0.03).float()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    order = torch.randperm(ROWS, device=DEVICE)
    batches = ROWS // BATCH
    for step in clock.loop():
        with clock.mark(step):
            rows = order[step % batches * BATCH : (step % batches + 1) * BATCH]
            with torch.autocast(DEVICE, torch.bfloat16):
                logits = model(numbers[rows], words[rows])
            loss = F.binary_cross_entropy_with_logits(logits.float(), clicks[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    run(main)
