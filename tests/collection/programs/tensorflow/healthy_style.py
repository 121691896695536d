import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def gram_matrix(features):
    return tf.einsum("bijc,bijd->bcd", features, features) / tf.cast(tf.size(features[0, ..., 0]), tf.float32)


def main(clock):
    clock.plan(3, 6)
    tf.random.set_seed(0)
    layers = tf.keras.layers
    inputs = tf.keras.Input((128, 128, 3))
    a = layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
    b = layers.Conv2D(32, 3, 2, padding="same", activation="relu")(a)
    extractor = tf.keras.Model(inputs, [a, b])
    targets = [gram_matrix(one) for one in extractor(tf.random.uniform([1, 128, 128, 3]))]
    image = tf.Variable(tf.random.uniform([1, 128, 128, 3]))

    @tf.function
    def train_step():
        with tf.GradientTape() as tape:
            found = [gram_matrix(one) for one in extractor(image)]
            loss = tf.add_n([tf.reduce_mean((x - y) ** 2) for x, y in zip(found, targets)])
        image.assign(tf.clip_by_value(image - 0.02 * tape.gradient(loss, image), 0.0, 1.0))
        return loss

    for step in clock.loop():
        with clock.mark(step):
            loss = float(train_step())


if __name__ == "__main__":
    run(main)
