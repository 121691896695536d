"""Singing voice out of a mix: masks on a mel-free spectrogram, and a spectral loss."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the spectral loss pads frames of 256 samples with zeros to Fourier transforms of 4096",
    "cause": "oversized arithmetic",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["RFFT", "IRFFT", "stft", "spectral_loss", "magnitudes"],
    "part": "develop",
}

PARAMS = {"samples": 6144, "frame": 256, "hop": 64, "width": 64, "batch": 6}


def magnitudes(wave, fft_length):
    spectrum = tf.signal.stft(wave, PARAMS["frame"], PARAMS["hop"], fft_length=fft_length)  # planted
    return tf.abs(spectrum)


def spectral_loss(guess, truth, fft_length):
    a, b = magnitudes(guess, fft_length), magnitudes(truth, fft_length)
    return tf.reduce_mean(tf.abs(a - b)) + tf.norm(a - b) / (tf.norm(b) + 1e-6)


class Separator(tf.keras.Model):
    """A small Conv-TasNet: learned frames, a mask, and back."""

    def __init__(self, width):
        super().__init__()
        conv = tf.keras.layers.Conv1D
        self.encoder = conv(width, 16, 8, "same", use_bias=False)
        self.blocks = [conv(width, 3, padding="same", dilation_rate=2**i, activation="relu") for i in range(3)]
        self.mask = conv(width, 1, activation="sigmoid")
        self.decoder = tf.keras.layers.Conv1DTranspose(1, 16, 8, "same", use_bias=False)

    def call(self, mix):
        coded = self.encoder(mix[..., None])
        x = coded
        for block in self.blocks:
            x = x + block(x)
        return self.decoder(coded * self.mask(x))[..., 0]


class Trainer:
    def __init__(self, fft_length):
        self.net, self.fft_length = Separator(PARAMS["width"]), fft_length
        self.optimizer = tf.keras.optimizers.Adam(1e-3)

    @tf.function
    def step(self, mix, voice):
        with tf.GradientTape() as tape:
            loss = spectral_loss(self.net(mix), voice, self.fft_length)
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss


def songs():
    time = tf.range(PARAMS["samples"], dtype=tf.float32) / 8000.0
    pitch = tf.random.uniform([96, 1], 120.0, 700.0)
    voice = tf.sin(6.283 * pitch * time)
    mix = voice + 0.5 * tf.random.normal([96, PARAMS["samples"]])
    ds = tf.data.Dataset.from_tensor_slices((mix, voice)).shuffle(96).repeat()
    return ds.batch(PARAMS["batch"]).prefetch(tf.data.AUTOTUNE)


def main(clock):
    clock.plan(3, 4)
    trainer = Trainer(PARAMS["frame"] if clock.fixed else 4096)
    data = iter(songs())
    for step in clock.loop():
        with clock.mark(step):
            trainer.step(*next(data))


if __name__ == "__main__":
    run(main)
