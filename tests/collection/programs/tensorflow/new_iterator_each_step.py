import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "next(iter(...)) in every step: the shuffle buffer is filled again for one batch",
    "cause": "input",
    "accept": ["input-bound"],
    "rules": ["input-bound"],
    "words": ["get_batch", "MakeIterator", "Shuffle", "OptimizeDataset"],
    "part": "develop",
}


def get_batch(ds):
    return next(iter(ds))  # planted


def main(clock):
    clock.plan(3, 6)
    tf.random.set_seed(0)
    images = tf.random.uniform([1500, 28, 28, 1])
    labels = tf.random.uniform([1500], maxval=10, dtype=tf.int32)
    ds = tf.data.Dataset.from_tensor_slices((images, labels))
    ds = ds.map(lambda x, y: (tf.image.per_image_standardization(x), y))
    ds = ds.shuffle(1200).batch(64).repeat()
    iterator = iter(ds)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Conv2D(16, 3, activation="relu", input_shape=(28, 28, 1)),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(10),
        ]
    )
    optimizer = tf.keras.optimizers.SGD(0.01)
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    for step in clock.loop():
        with clock.mark(step):
            x, y = next(iterator) if clock.fixed else get_batch(ds)
            loss = float(train_step(x, y))


if __name__ == "__main__":
    run(main)
