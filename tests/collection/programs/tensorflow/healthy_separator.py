"""Two speakers out of one microphone: masks over learnt frames (Conv-TasNet)."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

SAMPLES, FRAME, HOP, WIDTH, HIDDEN = 4000, 32, 16, 96, 128


class Separator(tf.Module):
    def __init__(self, depth=4):
        super().__init__()
        new = lambda *shape: tf.Variable(tf.random.normal(shape) * shape[-2] ** -0.5)
        self.encode, self.decode = new(FRAME, WIDTH), new(WIDTH, FRAME)
        self.blocks = [(new(1, WIDTH, HIDDEN), new(3, HIDDEN, HIDDEN), new(1, HIDDEN, WIDTH)) for _ in range(depth)]
        self.masks = new(WIDTH, 2 * WIDTH)

    def __call__(self, mixed):
        frames = tf.nn.relu(tf.signal.frame(mixed, FRAME, HOP) @ self.encode)
        x = frames
        for widen, look, narrow in self.blocks:
            y = tf.nn.relu(tf.nn.conv1d(x, widen, 1, "SAME"))
            y = tf.nn.relu(tf.nn.conv1d(y, look, 1, "SAME"))
            x += tf.nn.conv1d(y, narrow, 1, "SAME")
        masks = tf.stack(tf.split(tf.sigmoid(x @ self.masks), 2, -1), 1)
        return tf.signal.overlap_and_add((masks * frames[:, None]) @ self.decode, HOP)


def main(clock):
    clock.plan(3, 4)
    tf.random.set_seed(0)
    model = Separator()
    speakers = tf.random.normal([32, 2, SAMPLES])
    ds = tf.data.Dataset.from_tensor_slices(speakers).shuffle(32).repeat().batch(4).prefetch(2)

    @tf.function
    def train_step(speakers):
        with tf.GradientTape() as tape:
            found = model(tf.reduce_sum(speakers, 1))
            straight = tf.reduce_mean(tf.abs(found - speakers), [1, 2])
            crossed = tf.reduce_mean(tf.abs(found - speakers[:, ::-1]), [1, 2])
            loss = tf.reduce_mean(tf.minimum(straight, crossed))
        for w, g in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            w.assign_sub(0.01 * g)
        return loss

    for step, batch in enumerate(ds):
        if clock.tick(step):
            break
        with clock.mark(step):
            train_step(batch)


if __name__ == "__main__":
    run(main)
