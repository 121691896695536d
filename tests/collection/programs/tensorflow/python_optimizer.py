import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "Adam written by hand, parameter by parameter, outside of the compiled function",
    "cause": "optimizer per parameter",
    "accept": ["eager-execution", "optimizer-per-variable", "python-optimizer"],
    "rules": ["eager-execution", "optimizer-per-variable", "python-optimizer"],
    "words": ["adam_update", "eager", "Eager"],
    "part": "develop",
}


def adam_update(weights, grads, first, second, step):
    for w, g, m, v in zip(weights, grads, first, second):
        m.assign(0.9 * m + 0.1 * g)  # planted
        v.assign(0.999 * v + 0.001 * tf.square(g))  # planted
        m_hat = m / (1.0 - 0.9**step)
        v_hat = v / (1.0 - 0.999**step)
        w.assign_sub(0.001 * m_hat / (tf.sqrt(v_hat) + 1e-8))  # planted


def main(clock):
    clock.plan(3, 5)
    x = tf.random.normal([32, 64])
    weights = [tf.Variable(tf.random.normal([64, 64]) * 0.1) for _ in range(24)]
    first = [tf.Variable(tf.zeros_like(w)) for w in weights]
    second = [tf.Variable(tf.zeros_like(w)) for w in weights]

    @tf.function
    def gradients(x):
        with tf.GradientTape() as tape:
            y = x
            for w in weights:
                y = y + tf.tanh(tf.matmul(y, w))
            loss = tf.reduce_mean(tf.square(y))
        return tape.gradient(loss, weights)

    @tf.function
    def update(grads, step):
        adam_update(weights, grads, first, second, step)

    for step in clock.loop():
        with clock.mark(step):
            grads = gradients(x)
            if clock.fixed:
                update(grads, tf.constant(step + 1.0))
            else:
                adam_update(weights, grads, first, second, step + 1.0)  # planted


if __name__ == "__main__":
    run(main)
