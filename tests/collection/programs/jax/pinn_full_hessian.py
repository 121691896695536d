import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the Laplacian of a physics-informed net is the trace of the whole Hessian",
    "cause": "an algorithm that does more than it must",
    "accept": [],
    "rules": ["dominant-op"],
    "words": ["laplacian", "hessian"],
    "family": "dot",
    "part": "develop",
}


def net(params, x):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return (x @ w + b)[0]


def laplacian(params, x):
    return jnp.trace(jax.hessian(net, argnums=1)(params, x))  # planted


def laplacian_random(params, x):
    direction = jnp.sign(jnp.sin(1e4 * x))
    slope = lambda x: jax.jvp(lambda x: net(params, x), (x,), (direction,))[1]
    return jax.jvp(slope, (x,), (direction,))[1]


def main(clock):
    clock.plan(3, 6)
    sizes = [16, 64, 64, 1]
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    params = [(jax.random.normal(k, (a, b)) / a**0.5, jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]
    points = jax.random.uniform(keys[0], (512, 16))
    operator = laplacian_random if clock.fixed else laplacian

    @jax.jit
    def update(params, points):
        def loss(params):
            return jnp.mean(jax.vmap(lambda x: operator(params, x) + jnp.sum(x))(points) ** 2)

        grads = jax.grad(loss)(params)
        return jax.tree_util.tree_map(lambda p, g: p - 1e-4 * g, params, grads)

    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params = update(params, points)
            jax.block_until_ready(params)


if __name__ == "__main__":
    run(main)
