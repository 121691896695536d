import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the checkpoint manager saves after every batch instead of every epoch",
    "cause": "checkpoints",
    "accept": ["print-every-step", "slow-steps", "checkpoints", "checkpoint-every-step"],
    "rules": ["print-every-step", "slow-steps", "checkpoints", "checkpoint-every-step"],
    "words": ["save", "checkpoint", "Save", "MergeV2"],
    "part": "develop",
}


def main(clock):
    clock.plan(3, 6)
    x = tf.random.normal([64, 256])
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(512, activation="relu", input_shape=(256,)), tf.keras.layers.Dense(256)]
    )
    optimizer = tf.keras.optimizers.SGD(0.01)
    checkpoint = tf.train.Checkpoint(model=model)
    manager = tf.train.CheckpointManager(checkpoint, str(Path(clock.folder) / "ckpt"), max_to_keep=2)

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - x))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    for step in clock.loop():
        with clock.mark(step):
            train_step(x)
        if not clock.fixed:
            manager.save()  # planted


if __name__ == "__main__":
    run(main)
