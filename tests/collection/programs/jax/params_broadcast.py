import os
import sys
from functools import partial
from pathlib import Path

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "parameters go to pmap as one copy that it spreads over the devices, and come back as the first of the copies, in each step",
    "cause": "parameters copied to and fro",
    "accept": ["largest-part", "device-copies", "host-copies"],
    "rules": ["device-copies", "host-copies"],
    "words": ["unreplicate", "shard_args", "batched_device_put", "device_put", "dynamic_slice", "squeeze"],
    "part": "develop",
}  # fmt: skip


def unreplicate(tree):
    return jax.tree_util.tree_map(lambda x: x[0], tree)  # planted


def replicate(tree):
    count = jax.local_device_count()
    stacked = jax.tree_util.tree_map(lambda x: jnp.stack([x] * count), tree)
    return jax.pmap(lambda x: x)(stacked)


def loss_fn(params, x, y):
    for layer in params[:-1]:
        x = jax.nn.silu(x @ layer["w"] + layer["b"])
    logits = x @ params[-1]["w"] + params[-1]["b"]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))


def sgd(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    grads = jax.lax.pmean(grads, "devices")
    return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), jax.lax.pmean(loss, "devices")


# As in a tutorial: parameters are the same everywhere, only the batch is split.
step_unmapped = jax.pmap(sgd, axis_name="devices", in_axes=(None, 0, 0))
step_replicated = jax.pmap(sgd, axis_name="devices")


def shard(batch):
    count = jax.local_device_count()
    return jax.tree_util.tree_map(lambda x: x.reshape(count, -1, *x.shape[1:]), batch)


def main(clock):
    clock.plan(3, 6)
    rng = np.random.default_rng(0)
    sizes = [784, 1536, 1536, 10]
    params = [
        {"w": jnp.asarray(rng.normal(size=s) / s[0] ** 0.5, jnp.float32), "b": jnp.zeros(s[1])}
        for s in zip(sizes, sizes[1:])
    ]
    x, y = shard((rng.random((64, 784), dtype=np.float32), rng.integers(0, 10, 64)))
    if clock.fixed:
        params = replicate(params)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            if clock.fixed:
                params, loss = step_replicated(params, x, y)
            else:
                params, loss = step_unmapped(params, x, y)
                params, loss = unreplicate((params, loss))  # planted
            jax.block_until_ready((params, loss))


if __name__ == "__main__":
    run(main)
