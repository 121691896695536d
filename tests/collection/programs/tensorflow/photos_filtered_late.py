"""Fine-grained recognition of a few species out of a folder of many."""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "photos of all species are decoded and cropped, then a filter keeps those of every third",
    "cause": "elements made and thrown away",
    "accept": ["late-filter"],
    "rules": ["late-filter", "input-bound"],
    "words": ["filter"],
    "part": "develop",
}
SPECIES, SIZE, BATCH = 12, 80, 12


def photos(folder):
    """A few pictures of each species, as files."""
    draw = np.random.default_rng(0)
    paths, labels = [], []
    for number in range(4 * SPECIES):
        path = Path(folder) / f"photo{number}.jpg"
        small = draw.integers(0, 255, (18, 24, 3)).astype("float32")
        large = tf.cast(tf.clip_by_value(tf.image.resize(small, (288, 384)), 0, 255), tf.uint8)
        tf.io.write_file(str(path), tf.io.encode_jpeg(large))
        paths.append(str(path))
        labels.append(number % SPECIES)
    return paths, labels


def load(path, label):
    picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    picture = tf.image.resize(tf.image.convert_image_dtype(picture, tf.float32), (SIZE + 8, SIZE + 8))
    return tf.image.random_crop(picture, (SIZE, SIZE, 3)), label


def wanted(label):
    return label % 3 == 0


def batches(folder, is_fixed):
    data = tf.data.Dataset.from_tensor_slices(photos(folder)).shuffle(64).repeat()
    if is_fixed:
        data = data.filter(lambda _path, label: wanted(label))
        data = data.map(load, num_parallel_calls=tf.data.experimental.AUTOTUNE)
    else:
        data = data.map(load, num_parallel_calls=tf.data.experimental.AUTOTUNE)
        data = data.filter(lambda _picture, label: wanted(label))  # planted
    return data.batch(BATCH).prefetch(2)


def main(clock):
    clock.plan(3, 12)
    tf.random.set_seed(0)
    net = tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
            tf.keras.layers.Conv2D(24, 3, strides=2, activation="relu"),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(SPECIES),
        ]
    )
    net.build((None, SIZE, SIZE, 3))
    optimizer = tf.keras.optimizers.SGD(0.01)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def train(pictures, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, net(pictures, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return loss

    source = iter(batches(clock.folder, clock.fixed))
    for step in clock.loop():
        with clock.mark(step):
            loss = train(*next(source))
    float(loss)


if __name__ == "__main__":
    run(main)
