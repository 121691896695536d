"""Many stores' sales by one linear state-space model: a Kalman filter, noise learned by gradient."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every series of the batch carries a covariance and a gain of its own through the Kalman filter, though they do not depend on the data and are equal for all",
    "cause": "work done again",
    "accept": ["largest-part", "graph-loop", "dominant-op"],
    "rules": ["graph-loop", "dominant-op"],
    "words": ["predict_covariance", "gain_of", "Cholesky", "MatrixTriangularSolve", "CholeskyGrad", "covariance"],
    "part": "develop",
}

STATES, OBSERVED, TIMES, BATCH = 20, 8, 10, 48


class KalmanFilter(tf.Module):
    def __init__(self, one_covariance):
        super().__init__()
        self.one_covariance = one_covariance
        turn, _ = tf.linalg.qr(tf.random.normal([STATES, STATES]))
        self.move, self.look = 0.97 * turn, tf.random.normal([OBSERVED, STATES]) * STATES**-0.5
        self.drift = tf.Variable(tf.fill([STATES], -2.0))
        self.noise = tf.Variable(tf.fill([OBSERVED], -1.0))

    def predict_covariance(self, p):
        return self.move @ p @ tf.transpose(self.move) + tf.linalg.diag(tf.exp(self.drift))  # planted

    def gain_of(self, p):
        cross = p @ tf.transpose(self.look)
        factor = tf.linalg.cholesky(self.look @ cross + tf.linalg.diag(tf.exp(self.noise)))  # planted
        return factor, tf.linalg.matrix_transpose(tf.linalg.cholesky_solve(factor, tf.linalg.matrix_transpose(cross)))  # planted

    def negative_log_likelihood(self, y):
        series = 1 if self.one_covariance else tf.shape(y)[0]
        p = tf.eye(STATES, batch_shape=[series])
        x, total = tf.zeros([tf.shape(y)[0], STATES]), 0.0
        for t in range(TIMES):
            x, p = tf.linalg.matvec(self.move, x), self.predict_covariance(p)
            factor, gain = self.gain_of(p)
            surprise = y[:, t] - tf.linalg.matvec(self.look, x)
            inside = tf.broadcast_to(factor, [tf.shape(y)[0], OBSERVED, OBSERVED])
            white = tf.linalg.triangular_solve(inside, surprise[..., None])[..., 0]
            total += 0.5 * tf.reduce_sum(white**2, -1) + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor)), -1)
            x += tf.linalg.matvec(gain, surprise)
            p -= gain @ (self.look @ p)
        return tf.reduce_mean(total) / TIMES


def main(clock):
    clock.plan(3, 3)
    tf.random.set_seed(0)
    model = KalmanFilter(one_covariance=clock.fixed)
    optimizer = tf.keras.optimizers.SGD(1e-3)
    sales = tf.random.normal([BATCH * 6, TIMES, OBSERVED])
    batches = tf.data.Dataset.from_tensor_slices(sales).batch(BATCH, drop_remainder=True).repeat().prefetch(2)

    @tf.function
    def train_step(y):
        with tf.GradientTape() as tape:
            loss = model.negative_log_likelihood(y)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    for step, y in enumerate(batches):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(y)


if __name__ == "__main__":
    run(main)
