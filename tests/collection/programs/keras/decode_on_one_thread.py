import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "images are decoded and resized in a serial map before every batch",
    "cause": "input pipeline",
    "accept": ["no-cache", "serial-map", "input-bound", "missing-prefetch"],
    "rules": ["serial-map", "input-bound", "missing-prefetch", "host-input-limit", "no-cache"],
    "words": ["Map", "load_image", "Decode"],
    "part": "develop",
}


def load_image(data):
    image = tf.io.decode_jpeg(data, channels=3)
    image = tf.image.resize(image, [96, 96])
    return tf.image.random_flip_left_right(image) / 255.0, 1


def main(clock):
    clock.plan(3, 6)
    pixels = tf.cast(tf.random.uniform([16, 240, 240, 3], maxval=255, dtype=tf.int32), tf.uint8)
    jpegs = tf.stack([tf.io.encode_jpeg(image) for image in pixels])
    ds = tf.data.Dataset.from_tensor_slices(jpegs)
    if clock.fixed:
        ds = ds.map(load_image).cache().repeat().batch(16).prefetch(2)
    else:
        ds = ds.repeat().map(load_image).batch(16)  # planted
    model = tf.keras.models.Sequential(
        [
            tf.keras.layers.Conv2D(4, 3, strides=4, activation="relu", input_shape=(96, 96, 3)),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy")
    model.fit(ds, steps_per_epoch=clock.last, epochs=1, verbose=0, callbacks=clock.keras())


if __name__ == "__main__":
    run(main)
