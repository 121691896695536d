import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "random augmentation of images in a map on one thread, seen through the guide's own loop",
    "cause": "input pipeline",
    "accept": ["serial-map", "input-bound"],
    "rules": ["serial-map", "input-bound", "missing-prefetch", "host-input-limit"],
    "words": ["Map", "augment"],
    "part": "develop",
}


def augment(image, label):
    for _ in range(6):
        image = tf.image.random_brightness(image, 0.2)
        image = tf.image.random_contrast(image, 0.8, 1.2)
        image = tf.sort(image, axis=0)
    return tf.image.random_flip_left_right(image), label


def main(clock):
    clock.plan(3, 8)
    images = tf.random.uniform([64, 64, 64, 3])
    labels = tf.random.uniform([64], maxval=10, dtype=tf.int32)
    ds = tf.data.Dataset.from_tensor_slices((images, labels)).cache()
    if clock.fixed:
        ds = ds.batch(16).repeat().prefetch(2)
    else:
        ds = ds.repeat().map(augment).batch(16)  # planted
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(8, 3, activation="relu", input_shape=(64, 64, 3)),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(10),
        ]
    )
    optimizer = tf.keras.optimizers.SGD(0.01)
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    for step, (x, y) in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(x, y)


if __name__ == "__main__":
    run(main)
