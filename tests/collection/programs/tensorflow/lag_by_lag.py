"""Long-term forecasts with auto-correlation (Autoformer)."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the correlation of queries and keys is computed lag by lag with rolled copies, where Fourier transforms give all 96 lags at once",
    "cause": "an algorithm that does more than it must",
    "accept": ["largest-part", "dominant-op", "tiny-ops", "tiny-kernels", "launch-bound", "unfused-ops"],
    "rules": ["dominant-op", "tiny-ops", "tiny-kernels", "launch-bound", "unfused-ops"],
    "words": ["correlate", "correlation_by_lag", "Roll", "roll"],
    "part": "develop",
}

LENGTH, SERIES, WIDTH, BATCH, KEPT = 96, 7, 48, 8, 4


def correlation_by_lag(q, k):
    lags = [tf.reduce_mean(q * tf.roll(k, lag, axis=1), [1, 2]) for lag in range(LENGTH)]  # planted
    return tf.stack(lags, -1)  # planted


def correlation_by_fourier(q, k):
    spectrum = lambda x: tf.signal.rfft(tf.transpose(x, [0, 2, 1]))
    power = spectrum(q) * tf.math.conj(spectrum(k))
    return tf.reduce_mean(tf.signal.irfft(power, [LENGTH]), 1) / LENGTH


class AutoCorrelation(tf.keras.layers.Layer):
    def __init__(self, correlate):
        super().__init__()
        self.correlate = correlate
        self.q, self.k, self.v, self.out = (tf.keras.layers.Dense(WIDTH) for _ in range(4))

    def call(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        strength = self.correlate(q, k)
        best = tf.math.top_k(tf.reduce_mean(strength, 0), KEPT).indices
        weights = tf.nn.softmax(tf.gather(strength, best, axis=1))
        mixed = tf.add_n([tf.roll(v, -best[i], axis=1) * weights[:, i, None, None] for i in range(KEPT)])
        return self.out(mixed)


class Autoformer(tf.keras.Model):
    def __init__(self, correlate, depth=2):
        super().__init__()
        self.embed = tf.keras.layers.Conv1D(WIDTH, 3, padding="same")
        self.mixers = [AutoCorrelation(correlate) for _ in range(depth)]
        self.forwards = [tf.keras.Sequential([tf.keras.layers.Dense(2 * WIDTH, "gelu"), tf.keras.layers.Dense(WIDTH)]) for _ in range(depth)]
        self.head = tf.keras.layers.Dense(SERIES)

    def call(self, x):
        x = self.embed(x)
        for mix, forward in zip(self.mixers, self.forwards):
            x = x + mix(x)
            x = x - tf.nn.avg_pool1d(x, 25, 1, "SAME")
            x = x + forward(x)
        return self.head(x)


def main(clock):
    clock.plan(3, 2)
    tf.random.set_seed(0)
    model = Autoformer(correlation_by_fourier if clock.fixed else correlation_by_lag)
    optimizer = tf.keras.optimizers.SGD(1e-2)
    past = tf.random.normal([8, BATCH, LENGTH, SERIES])

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    for step in clock.loop():
        with clock.mark(step):
            train_step(past[step % 8], past[(step + 1) % 8])


if __name__ == "__main__":
    run(main)
