"""Message passing on batched molecules: fixed shapes, segment sums, one compiled step."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}

GRAPHS, NODES, DEGREE, WIDTH, ROUNDS = 32, 24, 4, 192, 3


def make_batch(rng):
    """As many nodes and edges in each: shapes never change."""
    count = GRAPHS * NODES
    senders = rng.integers(0, NODES, (GRAPHS, NODES * DEGREE)) + np.arange(GRAPHS)[:, None] * NODES
    receivers = np.repeat(np.arange(count), DEGREE)
    return {
        "nodes": rng.normal(size=(count, 16)).astype(np.float32),
        "senders": senders.ravel().astype(np.int32),
        "receivers": receivers.astype(np.int32),
        "graph": np.repeat(np.arange(GRAPHS), NODES).astype(np.int32),
        "target": rng.normal(size=GRAPHS).astype(np.float32),
    }


def init(key):
    shapes = [("embed", (16, WIDTH)), ("read", (WIDTH, 1))]
    shapes += [(f"message{i}", (2 * WIDTH, WIDTH)) for i in range(ROUNDS)]
    shapes += [(f"update{i}", (2 * WIDTH, WIDTH)) for i in range(ROUNDS)]
    keys = jax.random.split(key, len(shapes))
    return {name: jax.random.normal(k, s) * s[0] ** -0.5 for k, (name, s) in zip(keys, shapes)}


def energy(params, batch):
    x = batch["nodes"] @ params["embed"]
    for i in range(ROUNDS):
        pair = jnp.concatenate([x[batch["senders"]], x[batch["receivers"]]], 1)
        messages = jax.nn.silu(pair @ params[f"message{i}"])
        heard = jax.ops.segment_sum(messages, batch["receivers"], len(x), indices_are_sorted=True)
        x = x + jax.nn.silu(jnp.concatenate([x, heard], 1) @ params[f"update{i}"])
    return jax.ops.segment_sum(x @ params["read"], batch["graph"], GRAPHS, indices_are_sorted=True)[:, 0]


@jax.jit
def train_step(params, batch):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((energy(p, batch) - batch["target"]) ** 2))(params)
    return jax.tree_util.tree_map(lambda p, g: p - 1e-4 * g, params, grads), loss


def main(clock):
    clock.plan(4, 8)
    rng = np.random.default_rng(0)
    batches = [jax.device_put(make_batch(rng)) for _ in range(4)]
    params = init(jax.random.PRNGKey(0))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = train_step(params, batches[step % 4])
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
