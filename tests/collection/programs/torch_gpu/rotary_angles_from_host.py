import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every layer computes the cosines and sines of its rotary positions on the host and copies them to the device",
    "cause": "work that is done again",
    "accept": ["largest-part", "python-bound", "host-waits", "host-copies", "device-copies", "idle-device"],
    "rules": ["python-bound", "host-waits", "host-copies", "device-copies", "idle-device"],
    "words": ["rotary_angles", "aten::cos", "aten::sin", "aten::outer"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, LENGTH, HEADS, LAYERS, VOCAB = (2, 4096, 8, 5, 8192) if BIG else (2, 64, 2, 2, 100)
HEAD = 64
WIDTH = HEADS * HEAD


def rotary_angles(length, size, device):
    rates = 10000.0 ** (-torch.arange(0, size, 2).float() / size)  # planted
    angles = torch.outer(torch.arange(length).float(), rates)  # planted
    angles = torch.cat([angles, angles], -1)  # planted
    return angles.cos().to(device), angles.sin().to(device)  # planted


def rotate(x, cosine, sine):
    a, b = x.chunk(2, -1)
    return x * cosine + torch.cat([-b, a], -1) * sine


class Decoder(nn.Module):
    def __init__(self, keep_angles):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.angles = None
        if keep_angles:
            self.angles = rotary_angles(LENGTH, HEAD, DEVICE)

    def attention(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, HEAD)).permute(2, 0, 3, 1, 4)
        cosine, sine = self.angles or rotary_angles(x.shape[1], HEAD, x.device)  # planted
        q, k = rotate(q, cosine, sine).to(v.dtype), rotate(k, cosine, sine).to(v.dtype)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(VOCAB, WIDTH), *[Decoder(clock.fixed) for _ in range(LAYERS)], nn.Linear(WIDTH, VOCAB)).to(DEVICE)
    books = torch.randint(VOCAB, (4, BATCH, LENGTH + 1), device=DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    for step in clock.loop():
        with clock.mark(step):
            ids = books[step % 4]
            with torch.autocast(DEVICE, torch.bfloat16):
                loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    run(main)
