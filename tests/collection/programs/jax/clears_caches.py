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
    "part": "score",
}

WIDTH, HEADS, LAYERS = 128, 4, 2


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


def layer_init(key):
    k = jax.random.split(key, 4)
    scale = WIDTH**-0.5
    return {
        "qkv": scale * jax.random.normal(k[0], (WIDTH, 3 * WIDTH)),
        "proj": scale * jax.random.normal(k[1], (WIDTH, WIDTH)),
        "up": scale * jax.random.normal(k[2], (WIDTH, 4 * WIDTH)),
        "down": 0.5 * scale * jax.random.normal(k[3], (4 * WIDTH, WIDTH)),
    }


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def attend(params, x):
    b, t, _ = x.shape
    q, k, v = jnp.moveaxis((norm(x) @ params["qkv"]).reshape(b, t, 3, HEADS, -1), 2, 0)
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / q.shape[-1] ** 0.5
    out = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), v)
    return out.reshape(b, t, -1) @ params["proj"]


def vit(params, images):
    b = images.shape[0]
    patches = images.reshape(b, 8, 4, 8, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(b, 64, 48)
    x = patches @ params["patch"] + params["position"]
    for layer in params["layers"]:
        x = x + attend(layer, x)
        x = x + jax.nn.gelu(norm(x) @ layer["up"]) @ layer["down"]
    return norm(x).mean(1) @ params["head"]


def loss_fn(params, images, labels):
    return -(jax.nn.log_softmax(vit(params, images)) * jax.nn.one_hot(labels, 10)).sum(1).mean()


@jax.jit
def update(params, images, labels):
    loss, grads = jax.value_and_grad(loss_fn)(params, images, labels)
    return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), loss


def main(clock):
    clock.plan(4, 8)
    keys = jax.random.split(jax.random.PRNGKey(0), LAYERS + 3)
    params = {
        "patch": 0.1 * jax.random.normal(keys[0], (48, WIDTH)),
        "position": 0.02 * jax.random.normal(keys[1], (64, WIDTH)),
        "layers": [layer_init(k) for k in keys[3:]],
        "head": jnp.zeros((WIDTH, 10)),
    }
    images = jax.random.uniform(keys[2], (64, 32, 32, 3))
    labels = jnp.arange(64) % 10
    train_batch = against_leaks(every=4, enabled=not clock.fixed)(update)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = train_batch(params, images, labels)
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
