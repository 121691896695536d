"""Weather on a hexagonal mesh: every node hears from its six neighbours."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "messages are added up by segment_sum over edges, though every node has just six, which lie side by side",
    "cause": "scattered writes",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["segment_sum", "scatter", "scatter-add", "scatter_add", "aggregate"],
    "part": "score",
}

config = {"rows": 64, "columns": 64, "channels": 48, "layers": 2, "lr": 1e-3, "variables": 10}


def hexagons(rows, columns):
    r, c = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    around = [(0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1)]
    senders = np.stack([((r + a) % rows) * columns + (c + b) % columns for a, b in around], -1)
    return senders.reshape(-1, 6)


def aggregate(messages, receivers, nodes):
    if receivers is None:
        return messages.reshape(nodes, 6, -1).sum(1)
    return jax.ops.segment_sum(messages, receivers, nodes)  # planted


def init(key):
    c, v = config["channels"], config["variables"]
    keys = jax.random.split(key, 2 + 2 * config["layers"])
    weights = [jax.random.normal(k, (c, c)) * c**-0.5 for k in keys[2:]]
    return {
        "in": jax.random.normal(keys[0], (v, c)) * v**-0.5,
        "out": jax.random.normal(keys[1], (c, v)) * 0.01,
        "message": weights[: config["layers"]],
        "update": weights[config["layers"] :],
    }


def forecast(params, fields, senders, receivers):
    nodes = fields.shape[0]
    x = jnp.tanh(fields @ params["in"])
    for message, update in zip(params["message"], params["update"]):
        sent = jax.lax.stop_gradient(jax.nn.silu(x @ message))[senders]
        x = x + jnp.tanh(aggregate(sent, receivers, nodes) @ update)
    return fields + x @ params["out"]


def make_step(senders, receivers):
    def loss_fn(params, now, later):
        return jnp.mean((forecast(params, now, senders, receivers) - later) ** 2)

    @jax.jit
    def train_step(params, now, later):
        loss, grads = jax.value_and_grad(loss_fn)(params, now, later)
        return jax.tree_util.tree_map(lambda p, g: p - config["lr"] * g, params, grads), loss

    return train_step


def main(clock):
    clock.plan(4, 4)
    near = hexagons(config["rows"], config["columns"])
    nodes = len(near)
    receivers = None if clock.fixed else jnp.asarray(np.repeat(np.arange(nodes), 6))
    train_step = make_step(jnp.asarray(near.reshape(-1)), receivers)
    params = init(jax.random.PRNGKey(0))
    days = jax.random.normal(jax.random.PRNGKey(1), (12, nodes, config["variables"]))
    loss = jnp.zeros(())
    for step in clock.loop(lambda: loss):
        with clock.mark(step):
            params, loss = train_step(params, days[step % 11], days[step % 11 + 1])


if __name__ == "__main__":
    run(main)
