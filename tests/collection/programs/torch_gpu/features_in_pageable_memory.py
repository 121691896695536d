"""A student learns the stored features of a large vision model."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each batch of the teacher's stored features is copied to the device from memory that is not pinned, and the host waits for it",
    "cause": "slow copies to the device",
    "accept": ["largest-part", "host-copies", "device-copies", "input-bound", "host-waits", "idle-device"],
    "rules": ["host-copies", "device-copies", "input-bound", "host-waits", "idle-device"],
    "words": ["to_device", "aten::to", "aten::_to_copy", "aten::copy_", "cudaMemcpyAsync", "Memcpy HtoD", "Pageable"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, WIDTH, TEACHER, DEPTH = (128, 384, 1024, 6) if BIG else (4, 32, 64, 2)
SIDE, PATCH = 224, 16
TOKENS = (SIDE // PATCH) ** 2


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, -1, 32)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Linear(3 * PATCH * PATCH, WIDTH)
        self.position = nn.Parameter(torch.randn(TOKENS, WIDTH) * 0.02)
        self.layers = nn.Sequential(*[Layer() for _ in range(DEPTH)])
        self.head = nn.Linear(WIDTH, TEACHER)

    def forward(self, images):
        x = F.pixel_unshuffle(images.float().div(255), PATCH).flatten(2).mT
        return self.head(self.layers(self.patches(x) + self.position))


class FeatureStore:
    def __init__(self, batches, pinned):
        self.batches = [torch.empty(BATCH, TOKENS, TEACHER).fill_(number / 7) for number in range(batches)]
        if pinned and BIG:
            self.batches = [batch.pin_memory() for batch in self.batches]

    def to_device(self, number):
        return self.batches[number % len(self.batches)].to(DEVICE, non_blocking=True)  # planted


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    store = FeatureStore(2, pinned=clock.fixed)
    with torch.device(DEVICE):
        model = Student()
        images = torch.randint(256, (3, BATCH, 3, SIDE, SIDE), dtype=torch.uint8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    for step in clock.loop():
        with clock.mark(step):
            features = store.to_device(step)
            with torch.autocast(DEVICE, torch.bfloat16):
                loss = F.smooth_l1_loss(model(images[step % 3]), features)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    run(main)
