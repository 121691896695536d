import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a batch is stacked from rows taken one by one out of an array on the device",
    "cause": "many small dispatches to make a batch",
    "accept": ["eager-execution", "python-bound", "input-bound"],
    "rules": ["eager-execution", "python-bound", "launch-bound", "tiny-kernels", "input-bound"],
    "words": ["__getitem__", "collate", "stack", "gather", "dynamic_slice"],
    "part": "develop",
}


class Images:
    def __init__(self, count):
        self.x = jax.random.uniform(jax.random.PRNGKey(0), (count, 28, 28))
        self.y = jax.random.randint(jax.random.PRNGKey(1), (count,), 0, 10)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i] - 0.5, self.y[i]  # planted


def collate(items):
    x, y = zip(*items)
    return jnp.stack(x), jnp.stack(y)  # planted


def loader(data, size, at_once):
    key = jax.random.PRNGKey(2)
    while True:
        key, sub = jax.random.split(key)
        index = jax.random.randint(sub, (size,), 0, len(data))
        yield data[index] if at_once else collate([data[i] for i in index.tolist()])


@jax.jit
def update(params, x, y):
    def loss(params):
        hidden = x.reshape(len(x), -1)
        for w, b in params[:-1]:
            hidden = jax.nn.relu(hidden @ w + b)
        logits = jax.nn.log_softmax(hidden @ params[-1][0] + params[-1][1])
        return -jnp.mean(jnp.take_along_axis(logits, y[:, None], 1))

    grads = jax.grad(loss)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)


def main(clock):
    clock.plan(2, 3)
    sizes = [784, 1024, 1024, 10]
    keys = jax.random.split(jax.random.PRNGKey(3), 3)
    params = [(0.03 * jax.random.normal(k, (a, b)), jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]
    batches = loader(Images(2048), 32, at_once=clock.fixed)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params = update(params, *next(batches))
            jax.block_until_ready(params)


if __name__ == "__main__":
    run(main)
