import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "messages of a graph are summed by a product with the one-hot matrix of their receivers",
    "cause": "one-hot before a product",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["aggregate", "one_hot"],
    "part": "develop",
}


def aggregate(messages, receivers, count, fixed):
    if fixed:
        return jax.ops.segment_sum(messages, receivers, count)
    return jax.nn.one_hot(receivers, count).T @ messages  # planted


def layer(p, nodes, senders, receivers, fixed):
    messages = jax.nn.relu(nodes[senders] @ p["m"])
    return jax.nn.relu(nodes @ p["s"] + aggregate(messages, receivers, len(nodes), fixed))


def main(clock):
    clock.plan(3, 8)
    k = jax.random.split(jax.random.PRNGKey(2), 9)
    params = [
        {"m": 0.1 * jax.random.normal(k[i], (48, 48)), "s": 0.1 * jax.random.normal(k[i + 3], (48, 48))}
        for i in range(2)
    ]
    nodes = jax.random.normal(k[6], (1500, 48))
    senders = jax.random.randint(k[7], (5000,), 0, 1500)
    receivers = jax.random.randint(k[8], (5000,), 0, 1500)

    @jax.jit
    def update(params, nodes, senders, receivers):
        def loss_of(ps):
            h = nodes
            for p in ps:
                h = layer(p, h, senders, receivers, clock.fixed)
            return jnp.mean((h - nodes) ** 2)

        loss, grads = jax.value_and_grad(loss_of)(params)
        return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), loss

    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = update(params, nodes, senders, receivers)
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
