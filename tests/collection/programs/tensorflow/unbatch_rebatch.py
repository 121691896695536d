import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "batches are taken apart with unbatch and put together again, row by row",
    "cause": "input pipeline that works element by element",
    "accept": ["input-bound", "batch-after-map", "missing-prefetch", "serial-map", "no-cache", "host-input-limit"],
    "rules": ["input-bound", "batch-after-map", "missing-prefetch", "serial-map", "no-cache", "host-input-limit"],
    "words": ["unbatch", "Unbatch", "rebatched", "scaled", "BatchV2", "MapDataset"],
    "part": "develop",
}


def scaled(x, y):
    return (x - 0.1) / 0.7, y


def rebatched(ds, size):
    return ds.unbatch().map(scaled).batch(size)  # planted


def series(window):
    signal = tf.math.sin(tf.range(20_000, dtype=tf.float32) / 50)
    starts = tf.range(0, 20_000 - window - 1)

    def cut(begin):
        index = begin[:, None] + tf.range(window + 1)
        rows = tf.gather(signal, index)
        return rows[:, :-1, None], rows[:, -1]

    return tf.data.Dataset.from_tensor_slices(starts).shuffle(20_000).repeat().batch(256).map(cut, num_parallel_calls=2)


def main(clock):
    clock.plan(3, 5)
    tf.random.set_seed(0)
    ds = series(48).map(scaled) if clock.fixed else rebatched(series(48), 256)
    ds = ds.prefetch(tf.data.AUTOTUNE)
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Flatten(), layers.Dense(512, "relu"), layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True)[:, 0] - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    for step, (x, y) in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(x, y)


if __name__ == "__main__":
    run(main)
