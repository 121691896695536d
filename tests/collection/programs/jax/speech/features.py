import numpy as np


def hz_to_mel(hz):
    return 2595.0 * np.log10(1.0 + hz / 700.0)


def mel_to_hz(mel):
    return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)


def mel_filterbank(rate, fft, mels):
    """Triangles over the bins of a spectrum."""
    edges = mel_to_hz(np.linspace(hz_to_mel(0.0), hz_to_mel(rate / 2), mels + 2))
    bins = fft // 2 + 1
    bank = np.zeros((bins, mels), np.float32)
    for m in range(mels):
        low, centre, high = edges[m : m + 3]
        for k in range(bins):
            hz = k * rate / fft
            bank[k, m] = max(0.0, min((hz - low) / (centre - low), (high - hz) / (high - centre)))
    return bank


def frames(waves, fft, hop):
    starts = np.arange(0, waves.shape[1] - fft + 1, hop)
    return waves[:, starts[:, None] + np.arange(fft)] * np.hanning(fft).astype(np.float32)


class LogMel:
    def __init__(self, rate=16000, fft=512, hop=160, mels=64):
        self.rate, self.fft, self.hop, self.mels = rate, fft, hop, mels

    def bank(self):
        return mel_filterbank(self.rate, self.fft, self.mels)

    def __call__(self, waves):
        power = np.abs(np.fft.rfft(frames(waves, self.fft, self.hop))) ** 2
        return np.log(power @ self.bank() + 1e-6).astype(np.float32)


class LogMelOnce(LogMel):
    known = None

    def bank(self):
        if self.known is None:
            self.known = super().bank()
        return self.known
