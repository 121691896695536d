"""ConvMixer with the mixing over space written as an ordinary convolution."""
import sys
from functools import partial
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a convolution of each channel by itself runs as a full one, whose kernel is zero but on the diagonal",
    "cause": "dense arithmetic on zeros",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "diag_part", "SpatialMix", "MatrixDiag", "linalg.diag"],
    "part": "develop",
}

DIM, DEPTH, KERNEL, PATCH, BATCH = 64, 2, 5, 4, 12


class SpatialMix(tf.Module):
    def __init__(self, dim, size, diagonal):
        super().__init__()
        self.weight = tf.Variable(tf.random.normal([size, size, dim], stddev=1 / size))
        self.diagonal = diagonal

    def __call__(self, x):
        if self.diagonal:
            kernel = tf.linalg.diag(self.weight)  # planted
            return tf.nn.conv2d(x, kernel, 1, "SAME")  # planted
        return tf.nn.depthwise_conv2d(x, self.weight[..., None], [1, 1, 1, 1], "SAME")


class ConvMixer(tf.Module):
    def __init__(self, diagonal):
        super().__init__()
        self.stem = tf.Variable(tf.random.normal([PATCH, PATCH, 3, DIM], stddev=0.1))
        self.mixes = [SpatialMix(DIM, KERNEL, diagonal) for _ in range(DEPTH)]
        self.points = [tf.Variable(tf.random.normal([DIM, DIM], stddev=DIM**-0.5)) for _ in range(DEPTH)]
        self.head = tf.Variable(tf.random.normal([DIM, 10], stddev=DIM**-0.5))

    def __call__(self, images):
        x = tf.nn.gelu(tf.nn.conv2d(images, self.stem, PATCH, "VALID"), approximate=True)
        for mix, point in zip(self.mixes, self.points):
            x = x + tf.nn.relu(mix(x))
            x = tf.nn.relu(tf.tensordot(x, point, 1))
        return tf.reduce_mean(x, [1, 2]) @ self.head


def train(model, optimizer, images, labels):
    with tf.GradientTape() as tape:
        logits = model(images)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def main(clock):
    clock.plan(3, 4)
    images, labels = tf.random.uniform([192, 64, 64, 3]), tf.random.uniform([192], maxval=10, dtype=tf.int32)
    ds = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(192).batch(BATCH).cache().repeat().prefetch(2)
    model = ConvMixer(diagonal=not clock.fixed)
    optimizer = tf.keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)
    step_fn = tf.function(partial(train, model, optimizer))
    for step, (x, y) in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            step_fn(x, y)


if __name__ == "__main__":
    run(main)
