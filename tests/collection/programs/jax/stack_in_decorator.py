"""Keyword spotting: waves are shifted, masked and mixed with noise, then a small conv net."""
import functools
import inspect
import sys
import time
from collections import defaultdict
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a decorator that counts calls asks inspect.stack who called, for each transform of each sample",
    "cause": "introspection in each call",
    "accept": ["largest-part", "python-bound"],
    "rules": ["python-bound", "largest-part"],
    "words": ["inspect", "counted", "getframeinfo", "getinnerframes", "getouterframes"],
    "part": "develop",
}

CALLS = defaultdict(lambda: [0, 0.0])
NAMES_CALLERS = True


def counted(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        caller = "?"
        if NAMES_CALLERS:
            caller = inspect.stack()[1].function  # planted
        begin = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            entry = CALLS[caller, function.__name__]
            entry[0] += 1
            entry[1] += time.perf_counter() - begin

    return wrapper


@counted
def shift(wave, rng, most=1600):
    return np.roll(wave, rng.integers(-most, most))


@counted
def add_noise(wave, rng, level=0.05):
    return wave + level * rng.standard_normal(len(wave), dtype=np.float32)


@counted
def gain(wave, rng):
    return wave * np.float32(rng.uniform(0.7, 1.3))


class Compose:
    def __init__(self, *transforms):
        self.transforms = transforms

    def __call__(self, wave, rng):
        for transform in self.transforms:
            wave = transform(wave, rng)
        return wave


def batches(size, transform):
    rng = np.random.default_rng(0)
    waves = rng.normal(size=(256, 8000)).astype(np.float32)
    labels = rng.integers(0, 12, 256)
    while True:
        index = rng.integers(0, 256, size)
        yield np.stack([transform(waves[i], rng) for i in index]), labels[index]


def conv(x, w, stride):
    return jax.lax.conv_general_dilated(x, w, (stride,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))


@jax.jit
def train_step(params, waves, labels):
    def loss_of(params):
        x = jax.nn.relu(conv(waves[..., None], params["a"], 8))
        x = jax.nn.relu(conv(x, params["b"], 4))
        x = jax.nn.relu(conv(x, params["c"], 2)).mean(1)
        logits = jax.nn.log_softmax(x @ params["d"])
        return -jnp.mean(jnp.take_along_axis(logits, labels[:, None], 1))

    loss, grads = jax.value_and_grad(loss_of)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), loss


def main(clock):
    global NAMES_CALLERS
    NAMES_CALLERS = not clock.fixed
    clock.plan(3, 5)
    shapes = {"a": (64, 1, 32), "b": (8, 32, 64), "c": (8, 64, 64), "d": (64, 12)}
    params = {k: 0.1 * jax.random.normal(jax.random.PRNGKey(i), s) for i, (k, s) in enumerate(shapes.items())}
    source = batches(32, Compose(shift, add_noise, gain))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = train_step(params, *next(source))
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
