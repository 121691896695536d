"""Speech to letters: the best path of CTC for a batch of recordings."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the best path lies on the device and is walked frame by frame: every letter is a copy of its own that the host waits for",
    "cause": "the host waits for the device",
    "accept": ["largest-part", "host-waits", "python-bound", "host-copies", "idle-device"],
    "rules": ["host-waits", "host-copies"],
    "words": ["collapse", "aten::item", "aten::_local_scalar_dense", "Memcpy DtoH", "aten::select"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, FRAMES, WIDTH, LAYERS = (6, 240, 512, 6) if BIG else (2, 40, 32, 2)
LETTERS = "-abcdefghijklmnopqrstuvwxyz '"


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(WIDTH) for _ in range(3))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.near = nn.Conv1d(WIDTH, WIDTH, 15, padding=7, groups=WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.SiLU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, -1, 32)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        x = x + self.near(self.norm2(x).mT).mT
        return x + self.mlp(self.norm3(x))


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.sample = nn.Sequential(nn.Conv1d(80, WIDTH, 5, 2, 2), nn.SiLU(), nn.Conv1d(WIDTH, WIDTH, 5, 2, 2), nn.SiLU())
        self.layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])
        self.head = nn.Linear(WIDTH, len(LETTERS))

    def forward(self, mels):
        return self.head(self.layers(self.sample(mels).mT))


def collapse(path):
    text, last = [], 0
    for letter in path:
        letter = int(letter)  # planted
        if letter != last and letter != 0:
            text.append(LETTERS[letter])
        last = letter
    return "".join(text)


@torch.inference_mode()
def transcribe(model, mels, copy_first):
    paths = model(mels).argmax(-1)
    if copy_first:
        paths = paths.tolist()
    return [collapse(path) for path in paths]


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        model = Recogniser().to(torch.bfloat16).eval()
        mels = torch.randn(4, BATCH, 80, FRAMES, dtype=torch.bfloat16)
    said = []
    for step in clock.loop():
        with clock.mark(step, "transcribe"):
            said += transcribe(model, mels[step % 4], clock.fixed)

if __name__ == "__main__":
    run(main)
