import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "an elastic deformation in NumPy inside of the pipeline, row by row",
    "cause": "input in Python",
    "accept": ["python-in-pipeline", "input-bound"],
    "rules": ["python-in-pipeline", "input-bound"],
    "words": ["elastic", "PyFunc", "numpy_function"],
    "part": "develop",
}


def elastic(image):
    shift = np.cumsum(np.random.uniform(-0.2, 0.2, image.shape[0]))
    columns = np.arange(image.shape[1], dtype=np.float32)
    out = np.empty_like(image)
    for row in range(image.shape[0]):
        out[row] = np.interp(columns + shift[row], columns, image[row])  # planted
    return out


def augment(image, label):
    (image,) = [tf.numpy_function(elastic, [image], tf.float32)]  # planted
    return tf.ensure_shape(image, [64, 64]), label


def main(clock):
    clock.plan(3, 6)
    tf.random.set_seed(0)
    images, labels = tf.random.uniform([512, 64, 64]), tf.random.uniform([512], maxval=10, dtype=tf.int32)
    ds = tf.data.Dataset.from_tensor_slices((images, labels)).repeat()
    if not clock.fixed:
        ds = ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.batch(64).prefetch(tf.data.AUTOTUNE)
    w = tf.Variable(tf.zeros([4096, 10]))

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = tf.matmul(tf.reshape(x, [-1, 4096]), w)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    for step, (x, y) in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            loss = float(train_step(x, y))


if __name__ == "__main__":
    run(main)
