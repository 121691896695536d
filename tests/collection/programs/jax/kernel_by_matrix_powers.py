"""A linear state space layer (S4 without its tricks) on digits as sequences of pixels."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the convolution's kernel C A^l B is made of powers of the whole matrix A, where A times the last vector is enough",
    "cause": "order of operations",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["kernel_of", "next_power"],
    "part": "develop",
}

FEATURES, STATES, LENGTH, BATCH, CLASSES = 16, 32, 64, 128, 10


def kernel_of(layer, from_vectors):
    """(features, length) of C A^l B."""
    a = jnp.eye(STATES) - 0.05 * layer["a"]

    def next_power(power, _):
        return power @ a, jnp.einsum("fn,fnm,fm->f", layer["c"], power, layer["b"])  # planted

    def next_vector(x, _):
        return jnp.einsum("fnm,fm->fn", a, x), jnp.einsum("fn,fn->f", layer["c"], x)

    if from_vectors:
        return jax.lax.scan(next_vector, layer["b"], None, LENGTH)[1].T
    start = jnp.broadcast_to(jnp.eye(STATES), (FEATURES, STATES, STATES))
    return jax.lax.scan(next_power, start, None, LENGTH)[1].T  # planted


def convolve(u, kernel):
    n = 2 * LENGTH
    product = jnp.fft.rfft(u, n, axis=1) * jnp.fft.rfft(kernel.T, n, axis=0)
    return jnp.fft.irfft(product, n, axis=1)[:, :LENGTH]


def classify(params, pixels, from_vectors):
    x = pixels[..., None] * params["embed"]
    for layer in params["layers"]:
        x = x + jax.nn.gelu(convolve(x, kernel_of(layer, from_vectors)) @ layer["mix"])
    return x.mean(1) @ params["head"]


@partial(jax.jit, static_argnames="from_vectors", donate_argnums=0)
def train_step(params, pixels, labels, from_vectors):
    def loss_fn(params):
        logits = jax.nn.log_softmax(classify(params, pixels, from_vectors))
        return -jnp.take_along_axis(logits, labels[:, None], 1).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 1e-2 * g, params, grads), loss


def init(key, depth=1):
    keys = iter(jax.random.split(key, 4 * depth + 2))
    normal = lambda *shape: jax.random.normal(next(keys), shape) / shape[-1] ** 0.5
    layers = [{"a": normal(FEATURES, STATES, STATES), "b": normal(FEATURES, STATES), "c": normal(FEATURES, STATES), "mix": normal(FEATURES, FEATURES)} for _ in range(depth)]
    return {"embed": normal(FEATURES), "layers": layers, "head": normal(FEATURES, CLASSES)}


def main(clock):
    clock.plan(4, 2)
    rng = np.random.default_rng(0)
    pixels = jnp.asarray(rng.random((BATCH, LENGTH)), jnp.float32)
    labels = jnp.asarray(rng.integers(0, CLASSES, BATCH))
    params = init(jax.random.PRNGKey(0))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = train_step(params, pixels, labels, from_vectors=clock.fixed)


if __name__ == "__main__":
    run(main)
