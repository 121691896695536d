"""Leaves of plants: pictures are jittered and cropped in the input pipeline."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "colours of the whole photo are jittered before a crop keeps a twentieth of it",
    "cause": "order of operations in the input",
    "accept": ["largest-part", "input-bound", "host-input-limit", "missing-prefetch", "few-input-threads", "no-cache", "dominant-op"],
    "rules": ["input-bound", "host-input-limit", "missing-prefetch", "few-input-threads", "no-cache", "dominant-op"],
    "words": ["jitter", "AdjustHue", "AdjustSaturation", "AdjustContrastv2", "adjust_hue", "ParallelMap"],
    "part": "develop",
}

PHOTO, CROP, BATCH, KINDS = 288, 64, 8, 38


def jitter(image):
    image = tf.image.random_hue(image, 0.08)  # planted
    image = tf.image.random_saturation(image, 0.7, 1.3)  # planted
    image = tf.image.random_contrast(image, 0.8, 1.2)  # planted
    return tf.clip_by_value(image, 0.0, 1.0)


def crop(image):
    return tf.image.random_crop(image, [CROP, CROP, 3])


def augment(image, kind):
    image = crop(jitter(tf.cast(image, tf.float32) / 255.0))  # planted
    return tf.image.random_flip_left_right(image), kind


def augment_crop_first(image, kind):
    image = jitter(tf.cast(crop(image), tf.float32) / 255.0)
    return tf.image.random_flip_left_right(image), kind


def pipeline(how):
    photos = tf.cast(tf.random.uniform([24, PHOTO, PHOTO, 3], maxval=256, dtype=tf.int32), tf.uint8)
    kinds = tf.random.uniform([24], maxval=KINDS, dtype=tf.int32)
    ds = tf.data.Dataset.from_tensor_slices((photos, kinds)).repeat().shuffle(24)
    return ds.map(how, num_parallel_calls=tf.data.AUTOTUNE).batch(BATCH).prefetch(1)


def leaf_net():
    layers = tf.keras.layers
    net = tf.keras.Sequential([tf.keras.Input((CROP, CROP, 3))])
    for width in (16, 32, 48):
        net.add(layers.Conv2D(width, 3, 2, activation="relu"))
    net.add(layers.GlobalAveragePooling2D())
    net.add(layers.Dense(KINDS))
    return net


def main(clock):
    clock.plan(4, 4)
    tf.random.set_seed(0)
    net = leaf_net()
    optimizer = tf.keras.optimizers.SGD(0.02)

    @tf.function
    def train_step(images, kinds):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(kinds, net(images, training=True)))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return loss

    batches = iter(pipeline(augment_crop_first if clock.fixed else augment))
    for step in clock.loop():
        with clock.mark(step):
            train_step(*next(batches))


if __name__ == "__main__":
    run(main)
