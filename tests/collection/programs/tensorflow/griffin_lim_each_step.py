"""Tacotron-like: spectrograms from phonemes by convolutions, with a sample to listen to."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every step turns a predicted spectrogram into sound by 24 rounds of Griffin-Lim, of which one sample in a thousand steps would be heard",
    "cause": "work for display in each step",
    "accept": ["largest-part", "dominant-op", "graph-loop"],
    "rules": ["dominant-op", "graph-loop"],
    "words": ["griffin_lim", "Listener", "RFFT", "IRFFT", "inverse_stft", "stft"],
    "part": "develop",
}

PHONEMES, LENGTH, EACH, BINS, WIDTH, BATCH = 50, 24, 4, 257, 128, 6
WINDOW, HOP, ROUNDS = 512, 128, 24


class Voice(tf.keras.Model):
    def __init__(self):
        super().__init__()
        layers = tf.keras.layers
        self.embed = layers.Embedding(PHONEMES, WIDTH)
        self.body = tf.keras.Sequential([layers.Conv1D(WIDTH, 5, padding="same", activation="relu") for _ in range(3)])
        self.out = layers.Dense(BINS)

    def call(self, phonemes):
        x = tf.repeat(self.embed(phonemes), EACH, axis=1)
        return self.out(self.body(x))


@tf.function
def griffin_lim(magnitude):
    phase = tf.random.uniform(tf.shape(magnitude), maxval=6.28)
    spectrum = tf.cast(magnitude, tf.complex64) * tf.exp(1j * tf.cast(phase, tf.complex64))
    for _ in range(ROUNDS):
        wave = tf.signal.inverse_stft(spectrum, WINDOW, HOP)  # planted
        again = tf.signal.stft(wave, WINDOW, HOP)  # planted
        spectrum = tf.cast(magnitude, tf.complex64) * again / tf.cast(tf.abs(again) + 1e-8, tf.complex64)
    return tf.signal.inverse_stft(spectrum, WINDOW, HOP)


class Listener:
    def __init__(self, every):
        self.every, self.heard = every, []

    def on_step(self, step, predicted):
        if step % self.every == 0:
            self.heard.append(griffin_lim(tf.exp(predicted[:2])).numpy())  # planted


def main(clock):
    clock.plan(3, 4)
    tf.random.set_seed(0)
    voice, optimizer = Voice(), tf.keras.optimizers.SGD(1e-3)
    phonemes = tf.random.uniform([8, BATCH, LENGTH], maxval=PHONEMES, dtype=tf.int32)
    targets = tf.random.normal([8, BATCH, LENGTH * EACH, BINS])
    listener = Listener(every=1000 if clock.fixed else 1)  # planted

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            predicted = voice(x)
            loss = tf.reduce_mean(tf.abs(predicted - y))
        variables = voice.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss, predicted

    for step in clock.loop():
        with clock.mark(step):
            _, predicted = train_step(phonemes[step % 8], targets[step % 8])
            listener.on_step(step, predicted)  # planted


if __name__ == "__main__":
    run(main)
