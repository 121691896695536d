"""Speech freed of noise by a mask on its spectrogram."""
import math
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the spectrogram and its inverse are convolutions with sines and cosines of 512 samples, the whole matrix of a Fourier transform, where torch.stft is a fast one",
    "cause": "an algorithm that does more than it must",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["ConvSTFT", "transform", "inverse", "aten::conv_transpose1d"],
    "part": "develop",
}

FFT, HOP, LENGTH, BATCH, WIDTH = 512, 128, 16000, 4, 48


class ConvSTFT(nn.Module):
    def __init__(self):
        super().__init__()
        angle = 2 * math.pi * torch.outer(torch.arange(FFT // 2 + 1), torch.arange(FFT)) / FFT
        basis = torch.cat([angle.cos(), -angle.sin()]) * torch.hann_window(FFT)
        self.register_buffer("basis", basis[:, None])

    def transform(self, x):
        frames = F.conv1d(F.pad(x[:, None], (FFT // 2, FFT // 2)), self.basis, stride=HOP)  # planted
        return torch.complex(*frames.chunk(2, 1))

    def inverse(self, spectrum):
        both = torch.cat([spectrum.real, spectrum.imag], 1)
        return F.conv_transpose1d(both, self.basis, stride=HOP)[:, 0, FFT // 2 : FFT // 2 + LENGTH] / FFT  # planted


class FastSTFT(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(FFT))

    def transform(self, x):
        return torch.stft(x, FFT, HOP, window=self.window, pad_mode="constant", return_complex=True)

    def inverse(self, spectrum):
        return torch.istft(spectrum, FFT, HOP, window=self.window, length=LENGTH)


class Denoiser(nn.Module):
    def __init__(self, stft):
        super().__init__()
        self.stft = stft
        self.net = nn.Sequential(nn.Conv1d(FFT // 2 + 1, WIDTH, 3, padding=1), nn.ReLU(), nn.Conv1d(WIDTH, WIDTH, 3, padding=1), nn.ReLU(), nn.Conv1d(WIDTH, FFT // 2 + 1, 1), nn.Sigmoid())

    def forward(self, x):
        spectrum = self.stft.transform(x)
        return self.stft.inverse(self.net(spectrum.abs().log1p()) * spectrum)


def main(clock):
    clock.plan(3, 4)
    torch.manual_seed(0)
    model = Denoiser(FastSTFT() if clock.fixed else ConvSTFT())
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    clean = torch.sin(torch.linspace(0, 900, LENGTH)) * torch.rand(BATCH, 1)
    for step in clock.loop():
        with clock.mark(step):
            noisy = clean + 0.1 * torch.randn_like(clean)
            loss = F.l1_loss(model(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
