import math
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each forward makes a module of mel spectrograms, whose filters Python loops fill",
    "cause": "modules made in every step",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["LogMel.__init__"],
    "part": "develop",
}
RATE, N_FFT, HOP, N_MELS = 8000, 128, 64, 12


def hz_to_mel(hz):
    return 2595.0 * math.log10(1.0 + hz / 700.0)


def mel_to_hz(mel):
    return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)


class LogMel(nn.Module):
    def __init__(self):
        super().__init__()
        low, high = hz_to_mel(20.0), hz_to_mel(RATE / 2)
        points = [mel_to_hz(low + (high - low) * i / (N_MELS + 1)) for i in range(N_MELS + 2)]
        bank = [[0.0] * (N_FFT // 2 + 1) for _ in range(N_MELS)]
        for m in range(N_MELS):
            left, center, right = points[m : m + 3]
            for k in range(N_FFT // 2 + 1):
                hz = RATE * k / N_FFT
                rise, fall = (hz - left) / (center - left), (right - hz) / (right - center)
                bank[m][k] = max(0.0, min(rise, fall))  # planted
        self.register_buffer("bank", torch.tensor(bank))
        self.register_buffer("window", torch.hann_window(N_FFT))

    def forward(self, wav):
        spec = torch.stft(wav, N_FFT, HOP, window=self.window, return_complex=True).abs() ** 2
        return torch.log(self.bank @ spec + 1e-6)


class KeywordNet(nn.Module):
    def __init__(self, fixed):
        super().__init__()
        self.logmel = LogMel() if fixed else None
        self.conv = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.fc = nn.Linear(8, 12)

    def forward(self, wav):
        feats = (self.logmel or LogMel())(wav)
        return self.fc(F.relu(self.conv(feats.unsqueeze(1))).mean((2, 3)))


def main(clock):
    clock.plan(3, 3)
    torch.manual_seed(0)
    model = KeywordNet(clock.fixed)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    wavs, labels = torch.randn(8, RATE), torch.randint(12, (8,))
    for step in clock.loop():
        with clock.mark(step):
            loss = F.cross_entropy(model(wavs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    run(main)
