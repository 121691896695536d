"""Who speaks: strided convolutions over audio in 256 classes of the µ-law."""
import math
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "audio is companded by a scalar function under np.vectorize: a Python call for each sample",
    "cause": "Python work in the input",
    "accept": ["largest-part", "python-bound", "input-bound", "idle-device", "missing-prefetch", "host-input-limit", "python-in-pipeline"],
    "rules": ["python-bound", "input-bound", "idle-device", "missing-prefetch", "host-input-limit", "python-in-pipeline"],
    "words": ["vectorize", "mu_law", "compand", "_vectorize_call"],
    "part": "develop",
}

CLASSES, CHANNELS, SAMPLES, BATCH, SPEAKERS = 256, 24, 2048, 6, 40
MU = CLASSES - 1


def mu_law(x):
    sign = 1.0 if x >= 0 else -1.0
    y = sign * math.log1p(MU * abs(x)) / math.log1p(MU)  # planted
    return min(int((y + 1) / 2 * CLASSES), MU)


compand = np.vectorize(mu_law, otypes=[np.int32])


def compand_arrays(x):
    y = np.sign(x) * np.log1p(MU * np.abs(x)) / math.log1p(MU)
    return np.minimum(((y + 1) / 2 * CLASSES).astype("int32"), MU)


def speech_batches(encode, seed=0):
    rng = np.random.default_rng(seed)
    speech = np.sin(np.cumsum(rng.uniform(0.01, 0.3, 400_000))) * rng.uniform(0.2, 0.9)
    while True:
        starts = rng.integers(0, len(speech) - SAMPLES, BATCH)
        codes = encode(np.stack([speech[s : s + SAMPLES] for s in starts]))  # planted
        yield codes, rng.integers(0, SPEAKERS, BATCH)


def conv(x, w):
    return jax.lax.conv_general_dilated(x, w, (4,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))


def init(key):
    a, b, *keys = jax.random.split(key, 6)
    widths = [CHANNELS, 48, 96, 128, 128]
    convs = [jax.random.normal(k, (8, i, o)) * (8 * i) ** -0.5 for k, i, o in zip(keys, widths, widths[1:])]
    return {"embed": jax.random.normal(a, (CLASSES, CHANNELS)), "convs": convs, "out": jax.random.normal(b, (widths[-1], SPEAKERS)) * 0.05}


def loss_fn(params, codes, speaker):
    x = params["embed"][codes]
    for w in params["convs"]:
        x = jax.nn.gelu(conv(x, w))
    scores = jax.nn.log_softmax(x.mean(1) @ params["out"])
    return -jnp.mean(jnp.take_along_axis(scores, speaker[:, None], 1))


@jax.jit
def train_step(params, codes, speaker):
    loss, grads = jax.value_and_grad(loss_fn)(params, codes, speaker)
    return jax.tree_util.tree_map(lambda p, g: p - 1e-3 * g, params, grads), loss


def main(clock):
    clock.plan(3, 3)
    params = init(jax.random.PRNGKey(0))
    data = speech_batches(compand_arrays if clock.fixed else compand)
    loss = jnp.zeros(())
    for step in clock.loop(lambda: loss):
        with clock.mark(step):
            params, loss = train_step(params, *next(data))


if __name__ == "__main__":
    run(main)
