import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "advantages are summed backwards by a scan over every single time",
    "cause": "a loop of tiny ops on the device",
    "accept": ["graph-loop", "tiny-ops", "tiny-kernels", "dominant-op"],
    "rules": ["graph-loop", "tiny-ops", "tiny-kernels", "dominant-op"],
    "words": ["advantages", "while", "scan"],
    "family": "while",
    "part": "develop",
}

GAMMA, LAMBDA = 0.99, 0.95


def advantages(deltas):
    def back(carry, delta):
        carry = delta + GAMMA * LAMBDA * carry
        return carry, carry

    return jax.lax.scan(back, jnp.zeros(deltas.shape[1]), deltas, reverse=True)[1]  # planted


def advantages_by_matrix(deltas):
    time = jnp.arange(256)
    decay = jnp.where(time[None] >= time[:, None], (GAMMA * LAMBDA) ** (time[None] - time[:, None]), 0.0)

    def chunk(carry, rows):
        sums = decay @ rows + (GAMMA * LAMBDA) ** (256 - time)[:, None] * carry
        return sums[0], sums

    rows = deltas.reshape(-1, 256, deltas.shape[1])
    return jax.lax.scan(chunk, jnp.zeros(deltas.shape[1]), rows, reverse=True)[1].reshape(deltas.shape)


def main(clock):
    clock.plan(3, 8)
    key = jax.random.PRNGKey(0)
    observations = jax.random.normal(key, (32_768, 8, 4))
    w = jax.random.normal(key, (4,))
    compute = advantages_by_matrix if clock.fixed else advantages

    @jax.jit
    def ppo_update(w, observations):
        values = observations @ w
        deltas = 1.0 + GAMMA * jnp.roll(values, -1, 0) - values
        goal = jax.lax.stop_gradient(compute(deltas) + values)
        return w - 1e-3 * jax.grad(lambda w: jnp.mean((observations @ w - goal) ** 2))(w)

    for step in clock.loop(lambda: w):
        with clock.mark(step, "update"):
            w = ppo_update(w, observations)
            w.block_until_ready()


if __name__ == "__main__":
    run(main)
