"""Retrieval of songs for listeners: two towers, sampled softmax, only touched rows are updated."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

GPU = jax.default_backend() == "gpu"
LISTENERS, SONGS, BATCH, SIZE, HIDDEN = (400_000, 300_000, 8192, 128, 2048) if GPU else (3000, 2000, 256, 16, 32)


def tower(p, rows):
    h = jax.nn.relu(rows @ p["w1"])
    h = h + jax.nn.relu(h @ p["w2"])
    out = h @ p["w3"]
    return out * jax.lax.rsqrt(jnp.sum(out * out, -1, keepdims=True) + 1e-6)


def loss_fn(towers, listener_rows, song_rows):
    a, b = tower(towers["listener"], listener_rows), tower(towers["song"], song_rows)
    scores = 20.0 * a @ b.T
    return jnp.mean(jax.nn.logsumexp(scores, -1) - jnp.diagonal(scores))


@partial(jax.jit, donate_argnums=(0, 1))
def train_step(tables, towers, batch):
    listeners, songs = batch
    rows = tables["listeners"][listeners], tables["songs"][songs]
    loss, (g, ga, gb) = jax.value_and_grad(loss_fn, argnums=(0, 1, 2))(towers, *rows)
    towers = jax.tree.map(lambda p, g: p - 0.05 * g, towers, g)
    tables = {
        "listeners": tables["listeners"].at[listeners].add(-ga),
        "songs": tables["songs"].at[songs].add(-gb),
    }
    return tables, towers, loss


def clicks(rng):
    while True:
        listeners = rng.integers(0, LISTENERS, BATCH, dtype=np.int32)
        songs = rng.integers(0, SONGS, BATCH, dtype=np.int32)
        yield jax.device_put((listeners, songs))


def main(clock):
    clock.plan(4, 7)
    keys = jax.random.split(jax.random.PRNGKey(0), 8)
    shapes = {"w1": (SIZE, HIDDEN), "w2": (HIDDEN, HIDDEN), "w3": (HIDDEN, SIZE)}
    build = lambda ks: {n: jax.random.normal(k, s) * s[0] ** -0.5 for k, (n, s) in zip(ks, shapes.items())}
    towers = {"listener": build(keys[:3]), "song": build(keys[3:6])}
    tables = {
        "listeners": 0.1 * jax.random.normal(keys[6], (LISTENERS, SIZE)),
        "songs": 0.1 * jax.random.normal(keys[7], (SONGS, SIZE)),
    }
    source = clicks(np.random.default_rng(0))
    batch, losses = next(source), []
    for step in clock.loop(lambda: towers):
        with clock.mark(step):
            tables, towers, loss = train_step(tables, towers, batch)
            batch = next(source)
            losses.append(loss)
    print(float(losses[-1]))


if __name__ == "__main__":
    run(main)
