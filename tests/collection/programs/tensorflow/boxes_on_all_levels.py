"""Detection in two stages: features of proposals from the levels of a pyramid (FPN)."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "every proposal is cropped on all four levels of the pyramid, and a mask keeps the one crop that belongs to its size",
    "cause": "results computed and thrown away",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["crops_of_all", "CropAndResize", "crop_and_resize", "CropAndResizeGradImage"],
    "part": "develop",
}

SIDE, WIDTH, PROPOSALS, CROP, CLASSES, LEVELS = 128, 48, 320, 7, 20, 4


def level_of(boxes):
    size = tf.sqrt((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]))
    return tf.cast(tf.clip_by_value(tf.floor(4.0 + tf.math.log(size) / tf.math.log(2.0)), 0, LEVELS - 1), tf.int32)


def crops_of_all(pyramid, boxes, levels):
    total = 0.0
    for i, features in enumerate(pyramid):
        crops = tf.image.crop_and_resize(features, boxes, tf.zeros(PROPOSALS, tf.int32), [2 * CROP, 2 * CROP])  # planted
        total += crops * tf.cast(levels == i, tf.float32)[:, None, None, None]  # planted
    return total, tf.range(PROPOSALS)


def crops_by_level(pyramid, boxes, levels):
    crops, places = [], []
    for i, features in enumerate(pyramid):
        here = tf.where(levels == i)[:, 0]
        crops.append(tf.image.crop_and_resize(features, tf.gather(boxes, here), tf.zeros_like(here, tf.int32), [2 * CROP, 2 * CROP]))
        places.append(here)
    return tf.concat(crops, 0), tf.argsort(tf.concat(places, 0))


class Detector(tf.keras.Model):
    def __init__(self, crop):
        super().__init__()
        conv = lambda width, stride: tf.keras.layers.Conv2D(width, 3, stride, "same", activation="relu")
        self.crop = crop
        self.stages = [conv(WIDTH, 4), conv(WIDTH, 2), conv(WIDTH, 2), conv(WIDTH, 2)]
        self.head = tf.keras.Sequential([tf.keras.layers.Dense(48, "relu"), tf.keras.layers.Dense(CLASSES)])
        self.descent = tf.keras.optimizers.SGD(1e-3)

    def call(self, image, boxes):
        pyramid, x = [], image
        for stage in self.stages:
            x = stage(x)
            pyramid.append(x)
        crops, order = self.crop(pyramid, boxes, level_of(boxes))
        pooled = tf.reshape(tf.nn.max_pool2d(crops, 2, 2, "VALID"), [PROPOSALS, CROP * CROP * WIDTH])
        return tf.gather(self.head(pooled), order)

    @tf.function
    def train_step(self, image, boxes, classes):
        with tf.GradientTape() as tape:
            logits = self(image, boxes)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(classes, logits))
        self.descent.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return loss


def main(clock):
    clock.plan(3, 4)
    tf.random.set_seed(0)
    detector = Detector(crops_by_level if clock.fixed else crops_of_all)
    image = tf.random.uniform([1, SIDE, SIDE, 3])
    corner, size = tf.random.uniform([PROPOSALS, 2], 0, 0.5), 0.5 * 2.0 ** -tf.random.uniform([PROPOSALS, 1], 0, 4)
    boxes = tf.concat([corner, corner + size], 1)
    classes = tf.random.uniform([PROPOSALS], 0, CLASSES, tf.int32)
    for step in clock.loop():
        with clock.mark(step):
            detector.train_step(image, boxes, classes)


if __name__ == "__main__":
    run(main)
