import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def normalize_img(image, label):
    return tf.cast(image, tf.float32) / 255.0, label


def main(clock):
    clock.plan(4, 8)
    images = tf.cast(tf.random.uniform([512, 28, 28, 1], maxval=255, dtype=tf.int32), tf.uint8)
    labels = tf.random.uniform([512], maxval=10, dtype=tf.int32)
    ds = tf.data.Dataset.from_tensor_slices((images, labels))
    ds = ds.map(normalize_img, num_parallel_calls=tf.data.experimental.AUTOTUNE)
    ds = ds.cache().shuffle(512).batch(128).repeat().prefetch(tf.data.experimental.AUTOTUNE)
    if clock.fixed:  # without any input, to see that there is nothing to gain
        batch = (tf.cast(images[:128], tf.float32), labels[:128])
        ds = tf.data.Dataset.from_tensors(batch).cache().repeat().prefetch(2)
    model = tf.keras.models.Sequential(
        [
            tf.keras.layers.Conv2D(32, 3, activation="relu", input_shape=(28, 28, 1)),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(10),
        ]
    )
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=tf.keras.optimizers.Adam(0.001), loss=loss)
    model.fit(ds, steps_per_epoch=clock.last, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
