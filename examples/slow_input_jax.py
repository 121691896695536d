"""Train a small image classifier in JAX whose data loader is too slow, and record it.

    python examples/slow_input_jax.py --logdir runs/slow
    python examples/slow_input_jax.py --logdir runs/fixed --fixed
    stepscope show overview_page runs/slow

The loader works in Python, image by image, while the device waits. ``--fixed`` augments a whole
batch at once and prepares it on another thread while the current one trains. The loader marks its
work with ``_ipl_stage_name``, the stat by which profilers know input stages outside tf.data.
"""

from __future__ import annotations

import argparse
import queue
import statistics
import threading
import time
from collections.abc import Iterator
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

import stepscope

IMAGES = 512
CLASSES = 10
STORED_SIZE = 96  # pixels
TRAINED_SIZE = 32  # pixels
BATCH = 64
WARM_UP_STEPS = 5

Pixels: TypeAlias = "NDArray[np.float32]"
Batch: TypeAlias = "tuple[Pixels, NDArray[np.int64]]"


def stored_images() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images of noise, three bytes a pixel, and their labels."""
    random = np.random.default_rng(1)
    shape = (IMAGES, STORED_SIZE, STORED_SIZE, 3)
    return random.integers(0, 256, shape, dtype=np.uint8), np.arange(IMAGES) % CLASSES


def augment_one(image: NDArray[np.uint8], random: np.random.Generator) -> Pixels:
    """A random flip and light, shrunk to the network's size."""
    pixels = image.astype(np.float32) / 255.0
    if random.random() < 0.5:
        pixels = pixels[:, ::-1]
    pixels = np.clip(pixels * random.uniform(0.8, 1.2), 0.0, 1.0)
    factor = STORED_SIZE // TRAINED_SIZE
    small: Pixels = pixels.reshape(TRAINED_SIZE, factor, TRAINED_SIZE, factor, 3).mean(axis=(1, 3))
    return small


def slow_batches() -> Iterator[Batch]:
    """Batches made image by image, each when it is asked for."""
    images, labels = stored_images()
    random = np.random.default_rng(2)
    while True:
        chosen = random.integers(0, IMAGES, BATCH)
        yield np.stack([augment_one(images[row], random) for row in chosen]), labels[chosen]


def shrunk(images: NDArray[np.uint8]) -> Pixels:
    """All images at the network's size: work that never changes is done once."""
    factor = STORED_SIZE // TRAINED_SIZE
    shape = (len(images), TRAINED_SIZE, factor, TRAINED_SIZE, factor, 3)
    small: Pixels = (images.astype(np.float32) / 255.0).reshape(shape).mean(axis=(2, 4))
    return small


def fixed_batches() -> Iterator[Batch]:
    """Whole batches at once, made on another thread while the current one trains."""
    ready: queue.Queue[Batch] = queue.Queue(maxsize=4)

    def produce() -> None:
        stored, labels = stored_images()
        images = shrunk(stored)
        random = np.random.default_rng(2)
        while True:
            chosen = random.integers(0, IMAGES, BATCH)
            batch = images[chosen]
            flipped = random.random(BATCH) < 0.5
            batch[flipped] = batch[flipped, :, ::-1]
            light = random.uniform(0.8, 1.2, (BATCH, 1, 1, 1)).astype(np.float32)
            ready.put((np.clip(batch * light, 0.0, 1.0), labels[chosen]))

    threading.Thread(target=produce, name="input", daemon=True).start()
    while True:
        yield ready.get()


def initial_weights() -> dict[str, Any]:
    """Two convolutions and a linear layer."""
    first, second, last = jax.random.split(jax.random.key(0), 3)
    return {
        "conv1": 0.1 * jax.random.normal(first, (3, 3, 3, 16)),
        "conv2": 0.1 * jax.random.normal(second, (3, 3, 16, 32)),
        "dense": 0.1 * jax.random.normal(last, (32, CLASSES)),
    }


def loss_of(weights: dict[str, Any], images: Any, labels: Any) -> Any:
    """Mean cross entropy of the network over a batch."""
    hidden = images
    for name in ("conv1", "conv2"):
        dimensions = ("NHWC", "HWIO", "NHWC")
        hidden = jax.lax.conv_general_dilated(
            hidden, weights[name], (2, 2), "SAME", dimension_numbers=dimensions
        )
        hidden = jax.nn.relu(hidden)
    logits = hidden.mean(axis=(1, 2)) @ weights["dense"]
    return -jax.nn.log_softmax(logits)[jnp.arange(labels.shape[0]), labels].mean()


@jax.jit
def train_step(weights: dict[str, Any], images: Any, labels: Any) -> tuple[dict[str, Any], Any]:
    """One step of gradient descent; the new weights and the loss."""
    loss, gradients = jax.value_and_grad(loss_of)(weights, images, labels)
    moved = jax.tree.map(lambda weight, gradient: weight - 0.01 * gradient, weights, gradients)
    return moved, loss


def train(
    batches: Iterator[Batch], weights: dict[str, Any], steps: int
) -> tuple[dict[str, Any], list[float]]:
    """Run steps, each marked for the profiler; the weights and the steps' times in ms."""
    times_ms = []
    for number in range(steps):
        began = time.perf_counter()
        with stepscope.step(number):
            with stepscope.Trace("next_batch", _ipl_stage_name="next_batch", _ipl_stage_id=0):
                images, labels = next(batches)
            weights, loss = train_step(weights, images, labels)
            loss.block_until_ready()
        times_ms.append((time.perf_counter() - began) * 1e3)
    return weights, times_ms


def main() -> None:
    """Train, record and say how long a step took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logdir", default="runs/slow_input_jax", help="where the recording goes")
    parser.add_argument("--steps", type=int, default=40, help="steps to record")
    parser.add_argument("--fixed", action="store_true", help="use the repaired loader")
    arguments = parser.parse_args()

    batches = fixed_batches() if arguments.fixed else slow_batches()
    weights, _ = train(batches, initial_weights(), WARM_UP_STEPS)

    with stepscope.Profile(arguments.logdir):
        _, times_ms = train(batches, weights, arguments.steps)

    kind = "repaired" if arguments.fixed else "slow"
    print(
        f"{arguments.steps} steps with the {kind} loader: "
        f"median {statistics.median(times_ms):.1f} ms, "
        f"slowest {max(times_ms):.1f} ms per step (batch {BATCH})."
    )
    print(f"Recorded in {arguments.logdir}")


if __name__ == "__main__":
    main()
