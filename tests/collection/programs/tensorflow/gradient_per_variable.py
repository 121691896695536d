import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the tape goes back once for every variable",
    "cause": "needless backward",
    "accept": [],
    "rules": ["eager-execution", "tiny-ops", "python-bound"],
    "words": ["gradients_one_by_one"],
    "part": "develop",
}


def gradients_one_by_one(tape, loss, variables):
    return [tape.gradient(loss, v) for v in variables]  # planted


def main(clock):
    clock.plan(3, 5)
    tf.random.set_seed(0)
    model = tf.keras.Sequential([tf.keras.layers.Dense(256, activation="tanh") for _ in range(5)] + [tf.keras.layers.Dense(10)])
    optimizer = tf.keras.optimizers.SGD(0.01)
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    x, y = tf.random.normal([256, 256]), tf.random.uniform([256], maxval=10, dtype=tf.int32)
    for step in clock.loop():
        with clock.mark(step):
            with tf.GradientTape(persistent=True) as tape:
                loss = loss_fn(y, model(x, training=True))
            variables = model.trainable_variables
            if clock.fixed:
                grads = tape.gradient(loss, variables)
            else:
                grads = gradients_one_by_one(tape, loss, variables)
            optimizer.apply_gradients(zip(grads, variables))


if __name__ == "__main__":
    run(main)
