"""An orthogonal recurrent net on the copying task: its matrix is the Cayley transform of a skew one."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the Cayley transform of the weights is solved for again at each time step of the sequence; it is the same for all of them",
    "cause": "work that a loop repeats though it never changes within",
    "accept": ["largest-part", "dominant-op", "graph-loop"],
    "rules": ["dominant-op", "graph-loop"],
    "words": ["CayleyCell", "orthogonal", "MatrixSolve", "MatrixTriangularSolve", "triangular_solve"],
    "part": "score",
}

SYMBOLS, DELAY, HIDDEN, BATCH = 10, 24, 96, 32


class CayleyCell(tf.Module):
    def __init__(self, hidden):
        super().__init__()
        self.raw = tf.Variable(tf.random.normal([hidden, hidden], stddev=0.1))
        self.kernel = tf.Variable(tf.random.normal([SYMBOLS, hidden], stddev=0.3))
        self.bias = tf.Variable(tf.zeros([hidden]))

    def orthogonal(self):
        skew = self.raw - tf.transpose(self.raw)
        eye = tf.eye(skew.shape[0])
        return tf.linalg.solve(eye + skew, eye - skew)  # planted

    def __call__(self, state, x, w=None):
        if w is None:
            w = self.orthogonal()
        z = tf.gather(self.kernel, x) + state @ w
        return tf.sign(z) * tf.nn.relu(tf.abs(z) + self.bias)


def copy_task(batch):
    code = tf.random.uniform([batch, 10], 1, SYMBOLS - 1, tf.int32)
    blank = tf.zeros([batch, DELAY], tf.int32)
    go = tf.fill([batch, 1], SYMBOLS - 1)
    x = tf.concat([code, blank, go, blank[:, :9]], 1)
    y = tf.concat([tf.zeros([batch, DELAY + 10], tf.int32), code], 1)
    return x, y


def main(clock):
    clock.plan(2, 3)
    tf.random.set_seed(0)
    cell = CayleyCell(HIDDEN)
    out = tf.Variable(tf.random.normal([HIDDEN, SYMBOLS], stddev=0.1))
    weights = [*cell.trainable_variables, out]

    def unroll(x):
        w = cell.orthogonal() if clock.fixed else None
        first = tf.zeros([BATCH, HIDDEN])
        return tf.scan(lambda state, now: cell(state, now, w), tf.transpose(x), first)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = tf.einsum("tbh,hs->bts", unroll(x), out)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        for w, g in zip(weights, tape.gradient(loss, weights)):
            w.assign_sub(1e-3 * g)
        return loss

    for step in clock.loop():
        with clock.mark(step):
            train_step(*copy_task(BATCH))


if __name__ == "__main__":
    run(main)
