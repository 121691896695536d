import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a model server is fed by exporting the whole SavedModel after every second step",
    "cause": "export too often",
    "accept": ["python-bound", "retracing"],
    "rules": ["python-bound", "slow-steps", "uneven-steps", "retracing"],
    "words": ["publish", "saved_model"],
    "part": "develop",
}


class Ranker(tf.Module):
    def __init__(self):
        super().__init__()
        self.layers = [tf.Variable(tf.random.normal(s, stddev=0.1)) for s in ((96, 512), (512, 512), (512, 1))]

    @tf.function(input_signature=[tf.TensorSpec((None, 96))])
    def score(self, x):
        for w in self.layers[:-1]:
            x = tf.nn.relu(x @ w)
        return x @ self.layers[-1]


def publish(model, folder):
    tf.saved_model.save(model, folder + "/serving")  # planted


def main(clock):
    clock.plan(4, 10)
    model = Ranker()
    optimizer = tf.keras.optimizers.Adam(1e-3)
    optimizer.build(model.layers)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1024, 96)).astype("float32"), rng.random((1024, 1)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, y)).repeat().shuffle(1024).batch(256).prefetch(2)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model.score(x) - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.layers), model.layers))
        return loss

    batches = iter(data)
    for step in clock.loop():
        with clock.mark(step):
            bx, by = next(batches)
            loss = train_step(bx, by)
            if step % 2 == 0 and not clock.fixed:
                publish(model, clock.folder)


if __name__ == "__main__":
    run(main)
