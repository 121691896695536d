import functools
import gc
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a decorator against a memory leak clears JAX's caches after each fourth call, so that everything is compiled again",
    "cause": "compiled again and again",
    "accept": ["largest-part", "recompilation", "retracing", "uneven-steps", "slow-steps", "python-bound"],
    "rules": ["recompilation", "retracing", "uneven-steps", "slow-steps", "python-bound"],
    "words": ["clear_caches", "backend_compile", "against_leaks", "jit_update"],
    "part": "develop",
}

WIDTH = 768


def against_leaks(every, enabled):
    def wrap(function):
        calls = 0

        @functools.wraps(function)
        def wrapped(*args):
            nonlocal calls
            calls += 1
            if enabled and calls % every == 0:
                jax.clear_caches()  # planted
                gc.collect()
            return function(*args)

        return wrapped

    return wrap


def init(key):
    sizes = (3072, WIDTH, WIDTH, 10)
    keys = jax.random.split(key, len(sizes))
    return [
        {"w": jax.random.normal(k, (i, o)) * (2 / i) ** 0.5, "b": jnp.zeros(o)}
        for k, i, o in zip(keys, sizes, sizes[1:])
    ]


def mlp(params, images):
    x = images.reshape(len(images), -1)
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss_fn(params, images, labels):
    return -(jax.nn.log_softmax(mlp(params, images)) * jax.nn.one_hot(labels, 10)).sum(1).mean()


@jax.jit
def update(params, images, labels):
    loss, grads = jax.value_and_grad(loss_fn)(params, images, labels)
    return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), loss


def main(clock):
    clock.plan(4, 4)
    key = jax.random.PRNGKey(0)
    params = init(key)
    images = jax.random.uniform(key, (512, 32, 32, 3))
    labels = jnp.arange(512) % 10
    train_batch = against_leaks(every=4, enabled=not clock.fixed)(update)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = train_batch(params, images, labels)
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
