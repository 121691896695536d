"""SimSiam (Chen & He 2020): two views, a predictor, stopped gradients."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each half of the symmetric loss runs both views through the encoder again: four passes instead of two",
    "cause": "work done again",
    "accept": ["largest-part"],
    "rules": [],
    "words": ["half_loss", "Encoder", "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput"],
    "part": "develop",
}

WIDTH, DIM, BATCH, SIDE = 32, 256, 20, 40


class Encoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        conv = tf.keras.layers.Conv2D
        self.convs = [conv(WIDTH, 3, 2, activation="relu"), conv(2 * WIDTH, 3, activation="relu"), conv(2 * WIDTH, 3, 2, activation="relu")]
        self.project = tf.keras.layers.Dense(DIM)

    def call(self, images):
        x = images
        for conv in self.convs:
            x = conv(x)
        return self.project(tf.reduce_mean(x, [1, 2]))


def negative_cosine(p, z):
    z = tf.stop_gradient(z)
    return -tf.reduce_mean(tf.reduce_sum(tf.nn.l2_normalize(p, -1) * tf.nn.l2_normalize(z, -1), -1))


class SimSiam(tf.keras.Model):
    def __init__(self, share):
        super().__init__()
        self.share = share
        self.encoder = Encoder()
        self.predictor = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(DIM)])

    def half_loss(self, a, b):
        z_a, z_b = self.encoder(a), self.encoder(b)  # planted
        return 0.5 * negative_cosine(self.predictor(z_a), z_b)

    def call(self, a, b):
        if not self.share:
            return self.half_loss(a, b) + self.half_loss(b, a)  # planted
        z_a, z_b = self.encoder(a), self.encoder(b)
        return 0.5 * (negative_cosine(self.predictor(z_a), z_b) + negative_cosine(self.predictor(z_b), z_a))


def two_views(image):
    flipped = tf.image.random_flip_left_right(image)
    return flipped, tf.image.random_brightness(image, 0.3)


def main(clock):
    clock.plan(3, 3)
    photos = tf.random.uniform([120, SIDE, SIDE, 3])
    ds = tf.data.Dataset.from_tensor_slices(photos).repeat().batch(BATCH).map(two_views, tf.data.AUTOTUNE).prefetch(2)
    model = SimSiam(share=clock.fixed)
    optimizer = tf.keras.optimizers.SGD(0.03, momentum=0.9)

    @tf.function
    def train_step(a, b):
        with tf.GradientTape() as tape:
            loss = model(a, b)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    for step, views in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(*views)


if __name__ == "__main__":
    run(main)
