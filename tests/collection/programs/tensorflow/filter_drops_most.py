import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "images are decoded and resized before a filter drops four of five by their label",
    "cause": "work in the input pipeline that is thrown away",
    "accept": [
        "input-bound", "serial-map", "missing-prefetch", "no-cache", "batch-after-map", "host-input-limit", "few-input-threads"
    ],
    "rules": ["input-bound", "serial-map", "missing-prefetch", "no-cache", "batch-after-map", "host-input-limit", "few-input-threads"],
    "words": ["parse", "DecodeJpeg", "decode_jpeg", "Filter", "is_wanted", "ParallelMap", "ResizeBilinear"],
    "part": "develop",
}


def parse(image, label):
    image = tf.image.decode_jpeg(image, channels=3)  # planted
    return tf.image.resize(tf.cast(image, tf.float32) / 255.0, [64, 64]), label  # planted


def is_wanted(image, label):
    return tf.equal(label % 5, 0)


def main(clock):
    clock.plan(3, 6)
    tf.random.set_seed(0)
    pictures = [tf.io.encode_jpeg(tf.cast(tf.random.uniform([160, 160, 3], maxval=255, dtype=tf.int32), tf.uint8)) for _ in range(20)]
    ds = tf.data.Dataset.from_tensor_slices((tf.stack(pictures), tf.range(20))).repeat()
    if clock.fixed:
        ds = ds.filter(is_wanted).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    else:
        ds = ds.map(parse, num_parallel_calls=tf.data.AUTOTUNE).filter(is_wanted)
    ds = ds.batch(16).prefetch(tf.data.AUTOTUNE)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [layers.Conv2D(16, 3, 2, activation="relu"), layers.Conv2D(32, 3, 2, activation="relu"), layers.GlobalAveragePooling2D(), layers.Dense(20)]
    )
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.Adam()

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    for step, (x, y) in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(x, y)


if __name__ == "__main__":
    run(main)
