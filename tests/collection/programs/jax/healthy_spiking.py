"""Spiking neurons with surrogate gradients, scanned over time (healthy)."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

TIMES, INPUTS, HIDDEN, CLASSES, BATCH = 16, 256, 512, 10, 128


@jax.custom_jvp
def spike(v):
    return (v > 0).astype(v.dtype)


@spike.defjvp
def spike_slope(primals, tangents):
    (v,), (dv,) = primals, tangents
    return spike(v), dv / (1 + 10 * jnp.abs(v)) ** 2


def init(key):
    a, b = jax.random.split(key)
    return {"in": jax.random.normal(a, (INPUTS, HIDDEN)) * 0.1, "out": jax.random.normal(b, (HIDDEN, CLASSES)) * 0.1}


def network(p, spikes):
    drive = spikes @ p["in"]

    def body(carry, now):
        v, z = carry
        v = 0.9 * v * (1 - z) + now
        z = spike(v - 1.0)
        return (v, z), z

    start = jnp.zeros_like(drive[0]), jnp.zeros_like(drive[0])
    _, out = jax.lax.scan(body, start, drive)
    return out.mean(0) @ p["out"]


@partial(jax.jit, donate_argnums=0)
def train_step(p, spikes, labels):
    def loss(p):
        scores = jax.nn.log_softmax(network(p, spikes))
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

    value, grads = jax.value_and_grad(loss)(p)
    return jax.tree_util.tree_map(lambda a, g: a - 0.1 * g, p, grads), value


def main(clock):
    clock.plan(4, 5)
    rng = np.random.default_rng(0)
    batches = [
        (jnp.asarray(rng.random((TIMES, BATCH, INPUTS)) < 0.1, jnp.float32), jnp.asarray(rng.integers(0, CLASSES, BATCH)))
        for _ in range(4)
    ]
    p, value = init(jax.random.PRNGKey(0)), jnp.zeros(())
    for step in clock.loop(lambda: value):
        with clock.mark(step):
            p, value = train_step(p, *batches[step % 4])


if __name__ == "__main__":
    run(main)
