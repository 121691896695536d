"""Photo classifier on a folder of JPEG, the usual tf.data way."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "photos are decoded at full size only to be resized to an eighth",
    "cause": "input pipeline too slow",
    "accept": ["largest-part", "input-bound", "host-input-limit", "no-cache"],
    "rules": ["input-bound", "host-input-limit", "no-cache", "largest-part"],
    "words": ["decode_jpeg", "DecodeJpeg", "load_photo"],
    "part": "develop",
}

SIZE, BATCH, CLASSES = 96, 16, 20


def write_photos(folder, side, count=48):
    """What a phone would have left there."""
    rng = np.random.default_rng(0)
    folder = Path(folder) / "photos"
    folder.mkdir(exist_ok=True)
    names = []
    for i in range(count):
        small = tf.constant(rng.random((1, 24, 24, 3)) * 255, tf.float32)
        photo = tf.image.resize(small, (side, side), "bicubic")[0] + tf.random.normal((side, side, 3)) * 6
        data = tf.io.encode_jpeg(tf.cast(tf.clip_by_value(photo, 0, 255), tf.uint8), quality=92)
        path = folder / f"{i % CLASSES:02d}_{i:04d}.jpg"
        path.write_bytes(data.numpy())
        names.append(str(path))
    return names


def load_photo(path):
    photo = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)  # planted
    photo = tf.image.resize(photo, (SIZE, SIZE))
    return photo / 127.5 - 1.0


def make_dataset(names, labels):
    data = tf.data.Dataset.from_tensor_slices((names, labels)).shuffle(len(names)).repeat()
    data = data.map(lambda path, label: (load_photo(path), label), num_parallel_calls=tf.data.AUTOTUNE)
    return data.batch(BATCH).prefetch(tf.data.AUTOTUNE)


class Block(tf.keras.layers.Layer):
    def __init__(self, filters):
        super().__init__()
        self.conv = tf.keras.layers.Conv2D(filters, 3, 2, padding="same", use_bias=False)
        self.norm = tf.keras.layers.BatchNormalization()

    def call(self, x, training=False):
        return tf.nn.relu(self.norm(self.conv(x), training=training))


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.blocks = [Block(n) for n in (24, 48, 96, 128)]
        self.head = tf.keras.layers.Dense(CLASSES)

    def call(self, x, training=False):
        for block in self.blocks:
            x = block(x, training=training)
        return self.head(tf.reduce_mean(x, (1, 2)))


def main(clock):
    clock.plan(4, 8)
    names = write_photos(clock.folder, side=128 if clock.fixed else 1024)
    labels = [int(Path(name).name[:2]) for name in names]
    batches = iter(make_dataset(names, labels))
    model, optimizer = Net(), tf.keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    for step in clock.loop():
        with clock.mark(step):
            train_step(*next(batches)).numpy()


if __name__ == "__main__":
    run(main)
