import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the loss is a list comprehension over the samples of the batch, op by op",
    "cause": "a comprehension over tensors",
    "accept": ["eager-execution", "small-batch"],
    "rules": ["eager-execution"],
    "words": ["sample_loss", "batch_loss", "eager", "Eager"],
    "part": "develop",
}


def sample_loss(logits, label):
    return -tf.nn.log_softmax(logits)[label]  # planted


def batch_loss(logits, labels):
    return tf.add_n([sample_loss(logits[i], int(labels[i])) for i in range(len(labels))])  # planted


def main(clock):
    clock.plan(2, 4)
    x = tf.random.normal([20, 64])
    y = tf.random.uniform([20], maxval=10, dtype=tf.int32)
    model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu", input_shape=(64,)), tf.keras.layers.Dense(10)])
    forward = tf.function(lambda x: model(x))
    optimizer = tf.keras.optimizers.SGD(0.1)
    apply = tf.function(lambda grads: optimizer.apply_gradients(zip(grads, model.trainable_variables)))

    for step in clock.loop():
        with clock.mark(step):
            with tf.GradientTape() as tape:
                logits = forward(x)
                if clock.fixed:
                    loss = tf.reduce_sum(
                        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
                    )
                else:
                    loss = batch_loss(logits, y)
            apply(tape.gradient(loss, model.trainable_variables))  # planted


if __name__ == "__main__":
    run(main)
