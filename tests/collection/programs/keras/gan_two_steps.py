import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the generated pictures are rendered to PNG on disk in every step",
    "cause": "files written in the loop",
    "accept": [],
    "rules": [],
    "words": ["keep_pictures", "encode_png", "EncodePng", "write_file", "WriteFile"],
    "part": "develop",
}


def keep_pictures(folder, pictures):
    for number in range(pictures.shape[0]):
        pixels = tf.cast(127.5 * (pictures[number] + 1.0), tf.uint8)
        tf.io.write_file(f"{folder}/{number}.png", tf.io.encode_png(pixels))  # planted


def main(clock):
    clock.plan(3, 5)
    layers = tf.keras.layers
    generator = tf.keras.Sequential(
        [layers.Dense(784, activation="tanh", input_shape=(32,)), layers.Reshape((28, 28, 1)), layers.UpSampling2D(4)]
    )
    critic = tf.keras.Sequential([layers.Conv2D(4, 5, strides=4, input_shape=(112, 112, 1)), layers.Flatten(), layers.Dense(1)])
    g_opt, c_opt = tf.keras.optimizers.SGD(1e-3), tf.keras.optimizers.SGD(1e-3)
    real = tf.random.uniform([8, 112, 112, 1], -1.0, 1.0)

    @tf.function
    def train_step(noise):
        with tf.GradientTape(persistent=True) as tape:
            made = generator(noise)
            gain = tf.reduce_mean(critic(made))
            loss = gain - tf.reduce_mean(critic(real))
        g_opt.apply_gradients(zip(tape.gradient(gain, generator.trainable_variables), generator.trainable_variables))
        c_opt.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))
        return made

    for step in clock.loop():
        with clock.mark(step):
            made = train_step(tf.random.normal([8, 32]))
            if not clock.fixed:
                keep_pictures(clock.folder, made)


if __name__ == "__main__":
    run(main)
