"""Birds in soundscapes: log-mel spectrograms made on the way, a small convolutional net."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the spectrogram has a frame for each 16 samples, of which the pooling that follows the mel bands keeps every twentieth",
    "cause": "results computed and thrown away",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["log_mel", "RFFT", "stft", "ComplexAbs"],
    "part": "develop",
}

RATE, SECONDS, WINDOW, BANDS, BATCH = 16000, 2, 512, 48, 8
FRAMES_EACH = 320


class Birds(tf.Module):
    def __init__(self, hop, kinds=24):
        super().__init__()
        self.hop = hop
        self.mel = tf.signal.linear_to_mel_weight_matrix(BANDS, WINDOW // 2 + 1, RATE, 200.0, 7800.0)
        conv = tf.keras.layers.Conv2D
        self.net = tf.keras.Sequential([conv(24, 3, 2, activation="relu"), conv(48, 3, 2, activation="relu"), conv(64, 3, activation="relu"), tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(kinds)])
        self.net.build((None, RATE * SECONDS // FRAMES_EACH, BANDS, 1))

    def log_mel(self, wave):
        spectrum = tf.abs(tf.signal.stft(wave, WINDOW, self.hop, pad_end=True))  # planted
        bands = tf.math.log(tf.matmul(spectrum, self.mel) + 1e-4)  # planted
        return bands[:, :: FRAMES_EACH // self.hop, :, None]  # planted

    def __call__(self, wave):
        return self.net(self.log_mel(wave))


def soundscapes():
    wave = tf.random.normal([BATCH * 6, RATE * SECONDS])
    kinds = tf.cast(tf.random.uniform([BATCH * 6, 24]) < 0.1, tf.float32)
    return tf.data.Dataset.from_tensor_slices((wave, kinds)).batch(BATCH).repeat().prefetch(2)


def main(clock):
    clock.plan(3, 4)
    model = Birds(hop=FRAMES_EACH if clock.fixed else 16)  # planted
    optimizer = tf.keras.optimizers.SGD(0.05)

    @tf.function
    def train_step(wave, kinds):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(kinds, model(wave)))
        variables = model.net.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    for step, batch in enumerate(soundscapes()):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(*batch)


if __name__ == "__main__":
    run(main)
