import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "two hops along a graph multiply its matrix by itself before the nodes' few features",
    "cause": "products in the dearer order",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["in the other order that takes"],
    "part": "develop",
}
NODES, BATCH, FEATURES, WIDTH = 640, 3, 12, 24


def hops(graph, nodes, weights, is_fixed):
    """A layer on each node, its neighbours, and those of its neighbours."""
    once = jnp.einsum("nm,bmf->bnf", graph, nodes)
    if is_fixed:
        twice = jnp.einsum("nm,bmf->bnf", graph, once)
    else:
        twice = jnp.einsum("nm,bmf->bnf", graph @ graph, nodes)  # planted
    return jnp.concatenate([nodes, once, twice], axis=-1) @ weights


def main(clock):
    clock.plan(4, 12)
    keys = jax.random.split(jax.random.PRNGKey(7), 5)
    graph = jax.nn.softmax(4 * jax.random.normal(keys[0], (NODES, NODES)), axis=-1)
    params = {
        "in": 0.2 * jax.random.normal(keys[1], (3 * FEATURES, WIDTH)),
        "out": 0.2 * jax.random.normal(keys[2], (3 * WIDTH, 1)),
    }
    nodes = jax.random.normal(keys[3], (BATCH, NODES, FEATURES))
    ahead = jax.random.normal(keys[4], (BATCH, NODES, 1))
    is_fixed = clock.fixed

    @jax.jit
    def train_step(params, graph, nodes, ahead):
        def loss(params):
            hidden = jax.nn.relu(hops(graph, nodes, params["in"], is_fixed))
            return jnp.mean((hops(graph, hidden, params["out"], is_fixed) - ahead) ** 2)

        value, grads = jax.value_and_grad(loss)(params)
        return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), value

    for step in clock.loop():
        with clock.mark(step):
            params, value = train_step(params, graph, nodes, ahead)
            float(value)


if __name__ == "__main__":
    run(main)
