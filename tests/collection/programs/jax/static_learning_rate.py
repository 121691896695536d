import functools
import math
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the learning rate of a schedule is a static argument: each value compiles again",
    "cause": "recompilation",
    "accept": ["recompilation"],
    "rules": ["recompilation"],
    "words": ["train_step", "backend_compile", "compile"],
    "part": "develop",
}


def loss_fn(params, x, y):
    for w in params[:-1]:
        x = jax.nn.gelu(x @ w)
    return jnp.mean((x @ params[-1] - y) ** 2)


def step_fn(params, x, y, lr):
    grads = jax.grad(loss_fn)(params, x, y)
    return [p - lr * g for p, g in zip(params, grads)]


train_step = functools.partial(jax.jit, static_argnames="lr")(step_fn)  # planted
traced_step = jax.jit(step_fn)


def cosine(step, peak=0.1, total=1000):
    return 0.5 * peak * (1 + math.cos(math.pi * step / total))


def main(clock):
    clock.plan(3, 6)
    jax.clear_caches()
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    params = [jax.random.normal(k, (128, 128)) / 11 for k in keys]
    x = jax.random.normal(keys[0], (256, 128))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            lr = cosine(step)
            if clock.fixed:
                params = traced_step(params, x, x, lr)
            else:
                params = train_step(params, x, x, lr=lr)  # planted
            jax.block_until_ready(params)


if __name__ == "__main__":
    run(main)
