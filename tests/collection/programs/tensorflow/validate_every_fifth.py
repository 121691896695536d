import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every fifth step runs over the whole validation set",
    "cause": "bursts",
    "accept": ["slow-steps", "uneven-steps"],
    "rules": ["slow-steps", "uneven-steps"],
    "words": ["validate", "evaluate"],
    "part": "develop",
}


def main(clock):
    clock.plan(5, 15)
    x = tf.random.normal([64, 128])
    held_out = tf.random.normal([3000, 128])
    w1 = tf.Variable(tf.random.normal([128, 256]) * 0.1)
    w2 = tf.Variable(tf.random.normal([256, 128]) * 0.1)

    @tf.function
    def evaluate(x):
        return tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2) - x))

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = evaluate(x)
        g1, g2 = tape.gradient(loss, (w1, w2))
        w1.assign_sub(0.1 * g1)
        w2.assign_sub(0.1 * g2)
        return loss

    def validate():
        return sum(float(evaluate(held_out[i : i + 100])) for i in range(0, 3000, 100))  # planted

    for step in clock.loop():
        with clock.mark(step):
            train_step(x)
            if step % 5 == 4 and not clock.fixed:
                validate()  # planted


if __name__ == "__main__":
    run(main)
