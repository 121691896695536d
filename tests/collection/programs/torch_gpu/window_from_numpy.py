"""A vocoder from mel spectra, trained on STFTs of three resolutions."""
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the windows come from NumPy as float64, so frames, FFTs and all that follows of the loss run in double precision",
    "cause": "a slower number format than needed",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["spectrum", "SpectralLoss", "hanning", "aten::fft_rfft", "aten::_fft_r2c", "FftR2CBackward0", "aten::_fft_c2c", "regular_fft", "vector_fft", "aten::unfold", "UnfoldBackward0", "float64", "double"],
    "part": "develop",
}

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
BATCH, FRAMES, MELS = (48, 256, 80) if BIG else (2, 16, 80)
RATES, WIDTHS = (8, 8, 4), (256, 128, 64, 32)
SIZES = (512, 1024, 2048)


class Stage(nn.Module):
    def __init__(self, a, b, rate):
        super().__init__()
        self.up = nn.ConvTranspose1d(a, b, 2 * rate, rate, rate // 2)
        self.mix = nn.Conv1d(b, b, 7, padding=3)

    def forward(self, x):
        x = self.up(F.leaky_relu(x, 0.1))
        return x + self.mix(F.leaky_relu(x, 0.1))


class Generator(nn.Sequential):
    def __init__(self):
        stages = [Stage(a, b, rate) for a, b, rate in zip(WIDTHS, WIDTHS[1:], RATES)]
        super().__init__(nn.Conv1d(MELS, WIDTHS[0], 7, padding=3), *stages, nn.Conv1d(WIDTHS[-1], 1, 7, padding=3))


class SpectralLoss(nn.Module):
    def __init__(self, single):
        super().__init__()
        for size in SIZES:
            window = torch.from_numpy(np.hanning(size))
            self.register_buffer(f"window{size}", window.float() if single else window)

    def spectrum(self, wave, size):
        frames = wave.unfold(-1, size, size // 8) * getattr(self, f"window{size}")  # planted
        return torch.fft.rfft(frames).abs().clamp(min=1e-5)  # planted

    def forward(self, wave, truth):
        total = 0.0
        for size in SIZES:
            is_, should = self.spectrum(wave, size), self.spectrum(truth, size)
            total = total + (is_ - should).norm() / should.norm() + F.l1_loss(is_.log(), should.log())
        return total / len(SIZES)


def main(clock):
    clock.plan(3, 5)
    torch.manual_seed(0)
    with torch.device(DEVICE):
        model = Generator()
        mels, waves = torch.randn(4, BATCH, MELS, FRAMES), torch.randn(4, BATCH, 256 * FRAMES)
    criterion = SpectralLoss(single=clock.fixed).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, betas=(0.8, 0.99), fused=True)
    for step in clock.loop():
        with clock.mark(step):
            with torch.autocast(DEVICE, torch.bfloat16):
                made = torch.tanh(model(mels[step % 4]))
            loss = criterion(made.squeeze(1).float(), waves[step % 4])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    run(main)
