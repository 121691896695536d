"""A noise suppressor that masks learnt frames and adds them up again."""
import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "frames are added to the signal one after the other by slices, each of which backward copies the gradient of the whole signal; fold adds all",
    "cause": "many small ops in a loop of Python",
    "accept": ["largest-part", "eager-execution", "tiny-kernels", "launch-bound", "python-bound", "tiny-ops", "unfused-ops"],
    "rules": ["eager-execution", "tiny-kernels", "launch-bound", "python-bound", "tiny-ops", "unfused-ops"],
    "words": ["overlap_add", "CopySlices", "aten::add_", "autograd::engine::evaluate_function: CopySlices"],
    "part": "develop",
}

SAMPLES, FRAME, HOP, WIDTH = 2560, 64, 32, 96


def overlap_add(frames, samples):
    """(batch, frames, size) → (batch, samples)."""
    out = frames.new_zeros(len(frames), samples)
    for number in range(frames.shape[1]):
        out[:, number * HOP : number * HOP + FRAME] += frames[:, number]  # planted
    return out


def fold_frames(frames, samples):
    columns = frames.transpose(1, 2)
    return nn.functional.fold(columns, (1, samples), (1, FRAME), stride=(1, HOP)).view(len(frames), samples)


class Suppressor(nn.Module):
    def __init__(self, add):
        super().__init__()
        self.add = add
        self.encode, self.decode = nn.Linear(FRAME, WIDTH, bias=False), nn.Linear(WIDTH, FRAME, bias=False)
        self.context = nn.Sequential(
            nn.Conv1d(WIDTH, WIDTH, 3, padding=1), nn.PReLU(), nn.Conv1d(WIDTH, WIDTH, 3, padding=2, dilation=2), nn.Sigmoid()
        )

    def forward(self, noisy):
        frames = self.encode(noisy.unfold(1, FRAME, HOP))
        mask = self.context(frames.transpose(1, 2)).transpose(1, 2)
        return self.add(self.decode(frames * mask), noisy.shape[1])


def main(clock):
    clock.plan(2, 2)
    torch.manual_seed(0)
    model = Suppressor(fold_frames if clock.fixed else overlap_add)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    clean = torch.randn(8, SAMPLES)
    for step in clock.loop():
        with clock.mark(step):
            noisy = clean + 0.3 * torch.randn_like(clean)
            loss = nn.functional.l1_loss(model(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
