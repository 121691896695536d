import gc
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "gc.collect() in every step, with a large graph of Python objects alive",
    "cause": "garbage collection",
    "accept": ["garbage-collection", "gc-pauses"],
    "rules": ["garbage-collection", "gc-pauses"],
    "words": ["collect", "free_memory", "garbage"],
    "part": "develop",
}


def free_memory():
    gc.collect()  # planted


def main(clock):
    clock.plan(3, 8)
    records = [{"id": i, "tags": [str(i), i + 1], "meta": {"source": "train"}} for i in range(15000)]
    x = tf.random.normal([64, 32, 32, 3])
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu", input_shape=(32, 32, 3)),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(10),
        ]
    )

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True)))
        for var, grad in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            var.assign_sub(0.01 * grad)
        return loss

    for step in clock.loop():
        with clock.mark(step):
            train_step(x)
            if not clock.fixed:
                free_memory()
    return len(records)


if __name__ == "__main__":
    run(main)
