import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a histogram of every weight and gradient is written in every step",
    "cause": "summaries",
    "accept": ["print-every-step", "summaries-every-step", "summaries"],
    "rules": ["print-every-step", "summaries-every-step", "summaries"],
    "words": ["histogram", "write_summary", "summary", "WriteSummary", "FlushSummary"],
    "part": "develop",
}


def main(clock):
    clock.plan(2, 4)
    x = tf.random.normal([32, 28, 28, 1])
    y = tf.random.uniform([32], maxval=10, dtype=tf.int32)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(8, 3, activation="relu", input_shape=(28, 28, 1)),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(10),
        ]
    )
    optimizer = tf.keras.optimizers.Adam()
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    writer = tf.summary.create_file_writer(str(Path(clock.folder) / "summaries"))

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss, grads

    for step in clock.loop():
        with clock.mark(step):
            loss, grads = train_step(x, y)
            if not clock.fixed:
                with writer.as_default():
                    tf.summary.scalar("loss", loss, step=step)
                    for number, (grad, var) in enumerate(zip(grads, model.trainable_variables)):
                        tf.summary.histogram(f"grad_{number}", grad, step=step)  # planted
                        tf.summary.histogram(f"weight_{number}", tf.convert_to_tensor(var), step=step)  # planted


if __name__ == "__main__":
    run(main)
