import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from clock import run
from speech.features import LogMel, LogMelOnce

LABEL = {
    "planted": "the mel filter bank is computed again for every batch, by two loops in the user's own module",
    "cause": "a constant computed again in each step",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["mel_filterbank", "bank", "features.py", "LogMel"],
    "part": "develop",
}


@jax.jit
def train_step(params, x, y):
    def loss(params):
        hidden = jax.nn.relu(x @ params["in"])
        hidden = jax.nn.relu(hidden @ params["mid"]).mean(1)
        logits = jax.nn.log_softmax(hidden @ params["out"])
        return -jnp.mean(jnp.take_along_axis(logits, y[:, None], 1))

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 0.05 * g, params, grads), value


def batches(extract):
    rng = np.random.default_rng(0)
    waves = rng.normal(size=(16, 16000)).astype(np.float32)
    while True:
        yield extract(waves), rng.integers(0, 12, 16)  # planted


def main(clock):
    clock.plan(3, 6)
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    params = {
        "in": 0.1 * jax.random.normal(keys[0], (64, 512)),
        "mid": 0.05 * jax.random.normal(keys[1], (512, 512)),
        "out": 0.05 * jax.random.normal(keys[2], (512, 12)),
    }
    source = batches(LogMelOnce() if clock.fixed else LogMel())
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            x, y = next(source)
            params, loss = train_step(params, x, y)
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
