"""A generator of cells trained on an entropic transport distance."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the gradient goes back through all 30 rounds of Sinkhorn, though at its fixed point the potentials may be held constant",
    "cause": "gradients that are not needed",
    "accept": ["largest-part", "dominant-op", "graph-loop"],
    "rules": ["dominant-op", "graph-loop"],
    "words": ["sinkhorn", "potentials", "logsumexp"],
    "part": "develop",
}

CELLS, GENES, NOISE, WIDTH, ROUNDS, BLUR = 256, 30, 16, 256, 30, 1.0


def init(key):
    a, b, c = jax.random.split(key, 3)
    scaled = lambda key, i, o: jax.random.normal(key, (i, o)) * i**-0.5
    return [scaled(a, NOISE, WIDTH), scaled(b, WIDTH, WIDTH), scaled(c, WIDTH, GENES)]


def generate(p, z):
    return jax.nn.gelu(jax.nn.gelu(z @ p[0]) @ p[1]) @ p[2]


def costs(x, y):
    return (x**2).sum(1)[:, None] - 2 * x @ y.T + (y**2).sum(1)[None]


def potentials(cost):
    def sinkhorn(carry, _):
        f, g = carry
        f = -BLUR * logsumexp((g[None] - cost) / BLUR, axis=1)
        g = -BLUR * logsumexp((f[:, None] - cost) / BLUR, axis=0)
        return (f, g), None

    start = jnp.zeros(CELLS), jnp.zeros(CELLS)
    return jax.lax.scan(sinkhorn, start, None, length=ROUNDS)[0]


def transport(x, y, hold):
    cost = costs(x, y)
    if hold:
        f, g = potentials(jax.lax.stop_gradient(cost))
    else:
        f, g = potentials(cost)  # planted
    plan = jnp.exp((f[:, None] + g[None] - cost) / BLUR)
    if hold:
        plan = jax.lax.stop_gradient(plan)
    return (plan * cost).sum() / CELLS


@partial(jax.jit, static_argnums=3)
def train_step(p, key, cells, hold):
    z = jax.random.normal(key, (CELLS, NOISE))
    value, grads = jax.value_and_grad(lambda p: transport(generate(p, z), cells, hold))(p)
    return jax.tree_util.tree_map(lambda a, g: a - 1e-3 * g, p, grads), value


def main(clock):
    clock.plan(3, 3)
    keys = jax.random.split(jax.random.PRNGKey(0), 40)
    p, cells = init(keys[0]), jax.random.normal(keys[1], (CELLS, GENES))
    value = jnp.zeros(())
    for step in clock.loop(lambda: value):
        with clock.mark(step):
            p, value = train_step(p, keys[step % 40], cells, clock.fixed)
            value.block_until_ready()


if __name__ == "__main__":
    run(main)
