"""N-BEATS: stacks of dense blocks with backcasts for monthly series."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

PAST, FUTURE, WIDTH, BATCH = 72, 18, 320, 192


class Block(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.hidden = [tf.keras.layers.Dense(WIDTH, "relu") for _ in range(3)]
        self.back, self.ahead = tf.keras.layers.Dense(PAST), tf.keras.layers.Dense(FUTURE)

    def call(self, x):
        h = x
        for layer in self.hidden:
            h = layer(h)
        return self.back(h), self.ahead(h)


class NBeats(tf.keras.Model):
    def __init__(self, blocks=4):
        super().__init__()
        self.blocks = [Block() for _ in range(blocks)]

    def call(self, x):
        forecast = 0.0
        for block in self.blocks:
            back, ahead = block(x)
            x, forecast = x - back, forecast + ahead
        return forecast


def symmetric_error(y, forecast):
    return tf.reduce_mean(2 * tf.abs(y - forecast) / (tf.abs(y) + tf.abs(forecast) + 1e-3))


def main(clock):
    clock.plan(4, 5)
    series = tf.random.uniform([BATCH * 10, PAST + FUTURE]) + 1.0
    ds = tf.data.Dataset.from_tensor_slices((series[:, :PAST], series[:, PAST:]))
    ds = ds.batch(BATCH).cache().repeat().prefetch(tf.data.AUTOTUNE)
    model, optimizer = NBeats(), tf.keras.optimizers.SGD(1e-3)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = symmetric_error(y, model(x))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    for step, (x, y) in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(x, y)


if __name__ == "__main__":
    run(main)
