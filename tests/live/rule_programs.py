"""Small programs with a fault that the frameworks' own recordings must show.

Run as ``python -m tests.live.rule_programs NAME FOLDER``: records the program into the folder.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

import stepscope

_STEPS = 12


def summaries_in_graph(folder: str) -> None:
    """Histograms of all gradients are written in every step of a tf.function."""
    import tensorflow as tf

    layers = [tf.keras.layers.Dense(256, activation="relu") for _ in range(3)]
    model = tf.keras.Sequential([*layers, tf.keras.layers.Dense(10)])
    optimizer = tf.keras.optimizers.SGD(0.01)
    x, y = tf.random.normal((32, 128)), tf.zeros((32,), tf.int32)
    model(x)
    writer = tf.summary.create_file_writer(f"{folder}/summaries")
    number = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def train() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=model(x))
            )
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        with writer.as_default(step=number):
            for place, one in enumerate(gradients):
                tf.summary.histogram(f"gradient_{place}", one)
        number.assign_add(1)

    train()
    with stepscope.Profile(folder):
        for step in range(_STEPS):
            with stepscope.step(step):
                train()


def optimizer_per_variable(folder: str) -> None:
    """An optimizer that updates 122 small tensors one by one."""
    import torch

    torch.set_num_threads(1)
    blocks = [torch.nn.Linear(16, 16) for _ in range(60)]
    model = torch.nn.Sequential(*blocks, torch.nn.Linear(16, 4))
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    x, y = torch.randn(8, 16), torch.randint(0, 4, (8,))

    def train() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    train()
    with stepscope.Profile(folder):
        for step in range(_STEPS):
            with stepscope.step(step):
                train()


def garbage_in_every_step(folder: str) -> None:
    """A million objects, and gc.collect() in every step."""
    import numpy as np

    kept = [{"place": place} for place in range(300_000)]
    weights = np.ones((64, 64))

    def train() -> float:
        gc.collect()
        return float((weights @ weights).sum())

    train()
    with stepscope.Profile(folder):
        for step in range(_STEPS):
            with stepscope.step(step):
                train()
    del kept


PROGRAMS: dict[str, Callable[[str], None]] = {
    one.__name__: one
    for one in (
        summaries_in_graph,
        optimizer_per_variable,
        garbage_in_every_step,
    )
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](sys.argv[2])
