import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a callback evaluates the model on held-out pictures after every fifth batch",
    "cause": "bursts",
    "accept": ["python-bound", "slow-callback", "restarted-pipeline"],
    "rules": ["python-bound", "slow-callback", "restarted-pipeline"],
    "words": ["pass without gradients", "on_train_batch_end", "evaluate"],
    "part": "develop",
}


class Validation(tf.keras.callbacks.Callback):
    def __init__(self, pictures, digits):
        super().__init__()
        self.held_out = pictures, digits
        self.losses = []

    def on_train_batch_end(self, batch, logs=None):
        if batch % 5 == 4:
            self.losses.append(self.model.evaluate(*self.held_out, verbose=0))  # planted


def main(clock):
    clock.plan(7, 15)
    pictures = np.random.rand(1024, 20, 20, 1).astype("float32")
    digits = np.random.randint(0, 10, 1024)
    model = tf.keras.models.Sequential(
        [
            tf.keras.layers.Conv2D(8, 3, activation="relu", input_shape=(20, 20, 1)),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Conv2D(16, 3, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    callbacks = clock.keras()
    if not clock.fixed:
        callbacks.insert(0, Validation(pictures[:640], digits[:640]))
    model.fit(pictures, digits, batch_size=32, epochs=2, verbose=0, callbacks=callbacks)


if __name__ == "__main__":
    run(main)
