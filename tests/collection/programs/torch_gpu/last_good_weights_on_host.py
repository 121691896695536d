"""Tabular regression with a wide network; goes back to the last good weights when the loss is not finite."""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the weights are copied to the host in every step, to new memory, in case the next loss is not finite",
    "cause": "slow copies from the device",
    "accept": ["largest-part", "host-copies", "device-copies", "host-waits", "idle-device", "checkpoint-every-step"],
    "rules": ["host-copies", "device-copies", "host-waits", "idle-device"],
    "words": ["keep", "LastGood", "state_dict", "Memcpy DtoH", "aten::_to_copy", "aten::copy_", "aten::to"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, COLUMNS, WIDTH, DEPTH = (8192, 256, 1024, 5) if BIG else (32, 16, 32, 2)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.both, self.back = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return x + self.back(F.glu(self.both(self.norm(x))))


class LastGood:
    """The weights to go back to."""

    def __init__(self, model, on_device):
        self.model, self.on_device, self.held = model, on_device, None

    @torch.no_grad()
    def keep(self):
        if not self.on_device:
            self.held = {name: value.detach().cpu() for name, value in self.model.state_dict().items()}  # planted
        elif self.held is None:
            self.held = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        else:
            torch._foreach_copy_(list(self.held.values()), list(self.model.state_dict().values()))

    def restore(self):
        self.model.load_state_dict(self.held)


def main(clock):
    clock.plan(3, 6)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        model = nn.Sequential(nn.Linear(COLUMNS, WIDTH), *[Gated() for _ in range(DEPTH)], nn.Linear(WIDTH, 1))
        x, y = torch.randn(4, BATCH, COLUMNS), torch.randn(4, BATCH, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    good = LastGood(model, on_device=clock.fixed)
    good.keep()
    for step in clock.loop():
        with clock.mark(step):
            with torch.autocast(DEVICE, torch.bfloat16):
                loss = F.huber_loss(model(x[step % 4]).float(), y[step % 4])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 100 == 99 and not loss.isfinite():
                good.restore()
            good.keep()

if __name__ == "__main__":
    run(main)
