"""Sign language from clips: features of frames, then a recurrent layer."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a layer runs the convolutions on the 32 frames one after the other by tf.map_fn, a loop in the graph, where frames could lie in the batch",
    "cause": "a loop in the graph",
    "accept": ["largest-part", "graph-loop", "tiny-ops", "dominant-op"],
    "rules": ["graph-loop", "tiny-ops", "dominant-op"],
    "words": ["PerFrame", "while", "While", "map_fn", "map"],
    "part": "develop",
}

CLIPS, FRAMES, SIDE, BATCH, SIGNS = 48, 32, 20, 4, 10
L = tf.keras.layers


class PerFrame(L.Layer):
    def __init__(self, net, in_batch, **kwargs):
        super().__init__(**kwargs)
        self.net, self.in_batch = net, in_batch

    def build(self, shape):
        self.net.build((None, *shape[2:]))
        self.built = True

    def call(self, clips):
        if self.in_batch:
            flat = tf.reshape(clips, [-1, SIDE, SIDE, 1])
            return tf.reshape(self.net(flat), [-1, FRAMES, 24])
        frames = tf.transpose(clips, [1, 0, 2, 3, 4])
        out = tf.map_fn(self.net, frames)  # planted
        return tf.transpose(out, [1, 0, 2])

    def compute_output_shape(self, shape):
        return (*shape[:2], 24)


def frame_net():
    return tf.keras.Sequential(
        [L.Conv2D(8, 3, 2, activation="relu"), L.Conv2D(16, 3, 2, activation="relu"), L.Flatten(), L.Dense(24, activation="relu")]
    )


def main(clock):
    clock.plan(2, 2)
    rng = np.random.default_rng(0)
    clips = rng.random((CLIPS, FRAMES, SIDE, SIDE, 1), dtype="float32")
    model = tf.keras.Sequential([PerFrame(frame_net(), clock.fixed), L.Conv1D(32, 5, activation="relu"), L.GlobalMaxPooling1D(), L.Dense(SIGNS)])
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(clips, rng.integers(0, SIGNS, CLIPS), batch_size=BATCH, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
