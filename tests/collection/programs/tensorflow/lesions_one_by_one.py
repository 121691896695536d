"""2D U-Net on slices of CT, with the score per lesion that the challenge ranks by."""
import logging
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from scipy import ndimage

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a score per lesion labels the components of each mask and compares them one by one, in each training step",
    "cause": "a slow metric on the host in each step",
    "accept": ["largest-part", "python-bound"],
    "rules": ["python-bound", "largest-part"],
    "words": ["LesionDice", "ndimage", "match_lesions"],
    "part": "develop",
}

log = logging.getLogger("train")
SIDE = 128


class Dice:
    def __init__(self):
        self.scores = []

    def update(self, truth, predicted):
        both = (truth & predicted).sum((1, 2))
        self.scores.extend(2 * both / np.maximum(truth.sum((1, 2)) + predicted.sum((1, 2)), 1))

    def mean(self):
        return float(np.mean(self.scores))


class LesionDice(Dice):
    def match_lesions(self, truth, predicted):
        labels, count = ndimage.label(truth)  # planted
        found, _ = ndimage.label(predicted)  # planted
        for lesion in range(1, count + 1):
            inside = labels == lesion  # planted
            hits = np.unique(found[inside])  # planted
            other = np.isin(found, hits[hits > 0])  # planted
            both = np.logical_and(inside, other).sum()  # planted
            self.scores.append(2 * both / (inside.sum() + other.sum()))  # planted

    def update(self, truth, predicted):
        super().update(truth, predicted)
        for one, other in zip(truth, predicted):
            self.match_lesions(one, other)


def conv(filters):
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            layers.Conv2D(filters, 3, padding="same", activation="relu", kernel_initializer="he_normal"),
            layers.Conv2D(filters, 3, padding="same", activation="relu", kernel_initializer="he_normal"),
        ]
    )


def unet():
    image = tf.keras.Input((SIDE, SIDE, 1))
    first = conv(12)(image)
    second = conv(24)(tf.keras.layers.MaxPooling2D()(first))
    third = conv(32)(tf.keras.layers.MaxPooling2D()(second))
    up = tf.keras.layers.Conv2DTranspose(32, 2, 2)(third)
    up = conv(24)(tf.keras.layers.Concatenate()([up, second]))
    up = tf.keras.layers.Conv2DTranspose(16, 2, 2)(up)
    up = conv(12)(tf.keras.layers.Concatenate()([up, first]))
    return tf.keras.Model(image, tf.keras.layers.Conv2D(1, 1)(up))


def slices(count):
    rng = np.random.default_rng(0)
    field = ndimage.gaussian_filter(rng.normal(size=(count, SIDE, SIDE)), (0, 1.7, 1.7))
    masks = field > np.quantile(field, 0.93)
    images = field / field.std() + 0.3 * rng.normal(size=field.shape)
    return images[..., None].astype(np.float32), masks[..., None].astype(np.float32)


def main(clock):
    clock.plan(3, 4)
    images, masks = slices(32)
    model, optimizer = unet(), tf.keras.optimizers.Adam(1e-3)
    metric = Dice() if clock.fixed else LesionDice()
    data = tf.data.Dataset.from_tensor_slices((images, masks)).shuffle(32, seed=1).repeat().batch(8).prefetch(2)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            chance = tf.sigmoid(logits)
            cross = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(y, logits))
            dice = 1 - 2 * tf.reduce_sum(chance * y) / (tf.reduce_sum(chance) + tf.reduce_sum(y) + 1.0)
            loss = cross + dice
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss, tf.squeeze(logits, -1) > 0.0

    batches = iter(data)
    for step in clock.loop():
        with clock.mark(step):
            x, y = next(batches)
            loss, predicted = train_step(x, y)
            metric.update(y.numpy()[..., 0] > 0.5, predicted.numpy())
            log.info("step %d loss %.4f", step, loss)
    log.info("dice %.3f", metric.mean())


if __name__ == "__main__":
    run(main)
