"""CIFAR-like classification by an MLP-Mixer; logs the model FLOPs utilisation."""
import functools
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a decorator that logs FLOP/s traces and lowers the step for its cost analysis at every call",
    "cause": "traced again",
    "accept": ["largest-part", "recompilation", "retracing", "python-bound"],
    "rules": ["recompilation", "retracing", "python-bound"],
    "words": ["cost_analysis", "with_mfu", "lower", "lowering"],
    "part": "develop",
}

PEAK = 1e11


class Meter:
    def __init__(self, decay=0.9):
        self.value, self.decay = 0.0, decay

    def add(self, x):
        self.value = self.decay * self.value + (1 - self.decay) * x


def flops_of(lowered):
    costs = lowered.cost_analysis()
    costs = costs[0] if isinstance(costs, list) else costs
    return costs.get("flops", 0.0)


def with_mfu(meter, once):
    def decorate(fn):
        known = {}
        jitted = jax.jit(fn)

        @functools.wraps(fn)
        def inner(*args):
            if not (once and known):
                known["flops"] = flops_of(jax.jit(functools.partial(fn)).lower(*args))  # planted
            begin = time.perf_counter()
            out = jax.block_until_ready(jitted(*args))
            meter.add(known["flops"] / (time.perf_counter() - begin) / PEAK)
            return out

        return inner

    return decorate


def dense(key, a, b):
    return {"w": jax.random.normal(key, (a, b)) * a**-0.5, "b": jnp.zeros(b)}


def apply(p, x):
    return x @ p["w"] + p["b"]


def init(key, patches, dim):
    ks = jax.random.split(key, 6)
    return {
        "stem": dense(ks[0], 48, dim),
        "t1": dense(ks[1], patches, 2 * patches),
        "t2": dense(ks[2], 2 * patches, patches),
        "c1": dense(ks[3], dim, 2 * dim),
        "c2": dense(ks[4], 2 * dim, dim),
        "head": dense(ks[5], dim, 10),
    }


def forward(p, x):
    h = apply(p["stem"], x)
    h = h + apply(p["t2"], jax.nn.gelu(apply(p["t1"], h.swapaxes(1, 2)))).swapaxes(1, 2)
    h = h + apply(p["c2"], jax.nn.gelu(apply(p["c1"], h)))
    return apply(p["head"], h.mean(1))


def loss_fn(p, x, y):
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(forward(p, x)) * jax.nn.one_hot(y, 10), -1))


def main(clock):
    clock.plan(3, 3)
    meter = Meter()

    @with_mfu(meter, once=clock.fixed)
    def train_step(p, x, y):
        loss, g = jax.value_and_grad(loss_fn)(p, x, y)
        return jax.tree_util.tree_map(lambda a, b: a - 0.05 * b, p, g), loss

    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.random((48, 64, 48)), jnp.float32)
    y = jnp.asarray(rng.integers(0, 10, 48))
    params = init(jax.random.PRNGKey(0), 64, 128)
    loss = jnp.zeros(())
    for step in clock.loop(lambda: loss):
        with clock.mark(step):
            params, loss = train_step(params, x, y)
    print(f"mfu {meter.value:.3f}")


if __name__ == "__main__":
    run(main)
