"""Prices of houses: a residual MLP; outliers among the gradients are clipped."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the limit of clipping is a percentile of all gradients together, which sorts every one of them in each step",
    "cause": "a costly statistic in each step",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["limit_of", "percentile", "sort", "quantile"],
    "part": "score",
    "repeats": 2,
}

FEATURES, WIDTH, BATCH = 40, 160, 512


def forward(params, x):
    x = x @ params["in"]["w"] + params["in"]["b"]
    for name in ("a", "b", "c"):
        h = jax.nn.relu(x @ params[name]["w"] + params[name]["b"])
        x = x + h
    return (x @ params["out"]["w"] + params["out"]["b"])[:, 0]


def huber(params, x, y):
    d = jnp.abs(forward(params, x) - y)
    return jnp.where(d < 1, 0.5 * d**2, d - 0.5).mean()


def limit_of(grads):
    everything = jnp.concatenate([jnp.abs(g).ravel() for g in jax.tree_util.tree_leaves(grads)])
    return jnp.percentile(everything, 99.5)  # planted


def limit_of_norm(grads):
    leaves = jax.tree_util.tree_leaves(grads)
    count = sum(g.size for g in leaves)
    return 3.0 * jnp.sqrt(sum(jnp.vdot(g, g) for g in leaves) / count)


def build(limit):
    @jax.jit
    def gradients(params, x, y):
        loss, grads = jax.value_and_grad(huber)(params, x, y)
        most = limit(grads)
        return loss, jax.tree_util.tree_map(lambda g: jnp.clip(g, -most, most), grads)

    return gradients


@jax.jit
def apply(params, grads):
    return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads)


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)

    def dense(a, b):
        return {"w": jnp.asarray(rng.normal(0, a**-0.5, (a, b)), jnp.float32), "b": jnp.zeros(b)}

    params = {"in": dense(FEATURES, WIDTH), "out": dense(WIDTH, 1)}
    params |= {name: dense(WIDTH, WIDTH) for name in "abc"}
    houses = rng.normal(size=(8192, FEATURES)).astype(np.float32)
    prices = (houses[:, :5].sum(1) + rng.standard_t(2, 8192)).astype(np.float32)
    gradients = build(limit_of_norm if clock.fixed else limit_of)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            for _ in range(2):
                at = rng.integers(0, 8192, BATCH)
                loss, grads = gradients(params, houses[at], prices[at])
                params = apply(params, grads)
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
