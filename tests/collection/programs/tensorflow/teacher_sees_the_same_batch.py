import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a frozen teacher labels the same few batches again in every epoch",
    "cause": "work whose result does not change",
    "accept": [],
    "rules": [],
    "words": ["pass without gradients", "soft_labels"],
    "part": "develop",
}


def tower(widths):
    layers = [tf.Variable(tf.random.normal(shape, stddev=0.05)) for shape in zip(widths, widths[1:])]

    def forward(x):
        for weights in layers[:-1]:
            x = tf.nn.gelu(tf.matmul(x, weights))
        return tf.matmul(x, layers[-1])

    return layers, forward


def main(clock):
    clock.plan(5, 12)
    batches = [tf.random.normal([128, 256]) for _ in range(4)]
    _, teacher = tower([256, 768, 768, 32])
    variables, student = tower([256, 192, 32])

    @tf.function
    def soft_labels(x):
        return tf.nn.softmax(teacher(x) / 2.0)  # planted

    @tf.function
    def train_step(x, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, student(x)))
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(0.1 * gradient)
        return loss

    known = [soft_labels(x) for x in batches]
    for step in clock.loop():
        with clock.mark(step):
            x = batches[step % 4]
            train_step(x, known[step % 4] if clock.fixed else soft_labels(x))


if __name__ == "__main__":
    run(main)
