import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "super-resolution enlarges its images bicubically before the net instead of at its end",
    "cause": "one op dominates",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["enlarge", "ResizeBicubic"],
    "part": "develop",
}


def enlarge(images):
    return tf.image.resize(images, [192, 192], method="bicubic")  # planted


def main(clock):
    clock.plan(3, 5)
    tf.random.set_seed(0)
    conv = tf.keras.layers.Conv2D
    early = tf.keras.Sequential([conv(8, 3, padding="same", activation="relu"), conv(3, 3, padding="same")])
    late = tf.keras.Sequential([conv(8, 3, padding="same", activation="relu"), conv(48, 3, padding="same")])
    small, large = tf.random.uniform([8, 48, 48, 3]), tf.random.uniform([8, 192, 192, 3])
    optimizer = tf.keras.optimizers.SGD(1e-3)
    net = late if clock.fixed else early

    @tf.function
    def train_step(small, large):
        with tf.GradientTape() as tape:
            if clock.fixed:
                made = tf.nn.depth_to_space(late(small), 4)
            else:
                made = early(enlarge(small))
            loss = tf.reduce_mean(tf.abs(made - large))
        grads = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(grads, net.trainable_variables))
        return loss

    for step in clock.loop():
        with clock.mark(step):
            loss = float(train_step(small, large))


if __name__ == "__main__":
    run(main)
