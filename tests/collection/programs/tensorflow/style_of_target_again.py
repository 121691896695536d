import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "style transfer extracts the features of its fixed style image in every step",
    "cause": "work whose result does not change",
    "accept": [],
    "rules": [],
    "words": ["style_targets"],
    "part": "develop",
}


def gram_matrix(features):
    return tf.einsum("bijc,bijd->bcd", features, features) / tf.cast(tf.size(features[0, ..., 0]), tf.float32)


def style_targets(extractor, image):
    return [gram_matrix(one) for one in extractor(image)]  # planted


def main(clock):
    clock.plan(3, 5)
    tf.random.set_seed(0)
    layers = tf.keras.layers
    inputs = tf.keras.Input((None, None, 3))
    a = layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
    b = layers.Conv2D(32, 3, 2, padding="same", activation="relu")(a)
    c = layers.Conv2D(64, 3, 2, padding="same", activation="relu")(b)
    extractor = tf.keras.Model(inputs, [a, b, c])
    extractor.trainable = False
    style = tf.random.uniform([1, 320, 320, 3])
    image = tf.Variable(tf.random.uniform([1, 128, 128, 3]))
    known = style_targets(extractor, style)

    def train_step(image):
        targets = known if clock.fixed else style_targets(extractor, style)
        with tf.GradientTape() as tape:
            found = [gram_matrix(one) for one in extractor(image)]
            loss = tf.add_n([tf.reduce_mean((x - y) ** 2) for x, y in zip(found, targets)])
        image.assign(tf.clip_by_value(image - 0.02 * tape.gradient(loss, image), 0.0, 1.0))
        return loss

    for step in clock.loop():
        with clock.mark(step):
            loss = float(train_step(image))


if __name__ == "__main__":
    run(main)
