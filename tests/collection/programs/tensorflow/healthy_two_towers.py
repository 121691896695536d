import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def main(clock):
    clock.plan(3, 6)
    tf.random.set_seed(0)
    layers = tf.keras.layers
    users = tf.keras.Sequential([layers.Embedding(5000, 64), layers.Dense(256, activation="relu"), layers.Dense(64)])
    items = tf.keras.Sequential([layers.Embedding(2000, 64), layers.Dense(256, activation="relu"), layers.Dense(64)])
    optimizer = tf.keras.optimizers.Adagrad(0.1)
    pairs = tf.random.uniform([8192, 2], maxval=2000, dtype=tf.int32)
    ds = tf.data.Dataset.from_tensor_slices(pairs).shuffle(8192).repeat().batch(512).prefetch(2)

    @tf.function
    def train_step(pair):
        with tf.GradientTape() as tape:
            u, i = users(pair[:, 0]), items(pair[:, 1])
            logits = tf.matmul(u, i, transpose_b=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tf.range(512), logits))
        variables = users.trainable_variables + items.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    for step, pair in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(pair)


if __name__ == "__main__":
    run(main)
