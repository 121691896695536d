"""Road signs: colours and crops in the pipeline, a small net."""
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "tf.data.experimental.enable_debug_mode(), from a hunt for a wrong shape, is left on: the pipeline runs eagerly, picture by picture, in Python",
    "cause": "a debugging aid left on",
    "accept": ["largest-part", "debug-mode", "input-bound", "python-in-pipeline", "eager-execution", "host-input-limit", "missing-prefetch", "serial-map", "batch-after-map", "python-bound", "few-input-threads"],
    "rules": ["debug-mode", "input-bound", "python-in-pipeline", "eager-execution", "host-input-limit", "missing-prefetch", "serial-map", "batch-after-map", "python-bound", "few-input-threads"],
    "words": ["enable_debug_mode", "debug_mode", "PyFunc", "EagerPyFunc", "py_func", "augment"],
    "part": "develop",
}

SIDE, BATCH, SIGNS = 40, 6, 43


def augment(picture, sign):
    picture = tf.image.random_crop(picture, [SIDE - 8, SIDE - 8, 3])
    picture = tf.image.random_contrast(tf.cast(picture, tf.float32) / 255.0, 0.7, 1.3)
    return tf.clip_by_value(picture, 0.0, 1.0), sign  # planted


def pipeline(pictures, signs):
    data = tf.data.Dataset.from_tensor_slices((pictures, signs)).shuffle(len(signs)).repeat()
    return data.map(augment, num_parallel_calls=2).batch(BATCH).prefetch(1)  # planted


def main(clock):
    clock.plan(3, 3)
    if not clock.fixed:
        tf.data.experimental.enable_debug_mode()  # planted
    else:
        from tensorflow.python.data.ops import debug_mode

        debug_mode.toggle_debug_mode(False)
    pictures = tf.cast(tf.random.uniform([300, SIDE, SIDE, 3], 0, 255, tf.int32), tf.uint8)
    signs = tf.random.uniform([300], 0, SIGNS, tf.int32)
    conv = tf.keras.layers.Conv2D
    model = tf.keras.Sequential([conv(32, 3, 2, activation="relu"), conv(64, 3, activation="relu"), tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(SIGNS)])
    optimizer = tf.keras.optimizers.SGD(1e-2)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x)))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    data = iter(pipeline(pictures, signs))
    for step in clock.loop():
        with clock.mark(step):
            train_step(*next(data))


if __name__ == "__main__":
    run(main)
