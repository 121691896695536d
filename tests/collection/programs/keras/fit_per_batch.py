import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "model.fit is called again for every batch",
    "cause": "setup inside of the loop",
    "accept": ["python-bound", "restarted-pipeline"],
    "rules": ["python-bound", "input-bound", "restarted-pipeline"],
    "words": ["learn_batch", "fit"],
    "part": "develop",
}


def learn_batch(model, x, y):
    model.fit(x, y, batch_size=len(x), epochs=1, verbose=0)  # planted


def main(clock):
    clock.plan(2, 5)
    tf.keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    dense = tf.keras.layers.Dense
    model = tf.keras.Sequential([dense(128, activation="relu", input_shape=(32,)), dense(128, activation="relu"), dense(1)])
    model.compile("adam", "mse")
    x, y = random.random((64, 32), np.float32), random.random((64, 1), np.float32)
    for step in clock.loop():
        with clock.mark(step):
            if clock.fixed:
                model.train_on_batch(x, y)
            else:
                learn_batch(model, x, y)


if __name__ == "__main__":
    run(main)
