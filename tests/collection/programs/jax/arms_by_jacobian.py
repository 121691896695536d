import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "a soft arm's velocities are its whole Jacobian times the joints' velocities",
    "cause": "derivatives that nobody needs",
    "accept": ["largest-part", "dominant-op"],
    "rules": [],
    "words": ["makes a Jacobian", "A whole Jacobian"],
    "part": "develop",
}
JOINTS, MARKERS, WIDTH, BATCH = 8, 16, 256, 96


def positions(params, joints):
    """Where the markers on the arm are: three numbers for each."""
    (first, second, last) = params
    hidden = jnp.tanh(joints @ first[0] + first[1])
    hidden = jnp.tanh(hidden @ second[0] + second[1])
    return hidden @ last[0] + last[1]


def velocities(params, joints, speeds, is_fixed):
    def of(angles):
        return positions(params, angles)

    if is_fixed:
        return jax.jvp(of, (joints,), (speeds,))[1]
    return jax.jacrev(of)(joints) @ speeds  # planted


def main(clock):
    clock.plan(4, 12)
    keys = jax.random.split(jax.random.PRNGKey(5), 6)
    widths = (JOINTS, WIDTH, WIDTH, 3 * MARKERS)
    params = [
        (jax.random.normal(key, shape) / shape[0] ** 0.5, jnp.zeros(shape[1]))
        for key, shape in zip(keys, zip(widths, widths[1:]))
    ]
    joints = jax.random.normal(keys[3], (BATCH, JOINTS))
    speeds = jax.random.normal(keys[4], (BATCH, JOINTS))
    seen = jax.random.normal(keys[5], (BATCH, 3 * MARKERS))
    is_fixed = clock.fixed

    @jax.jit
    def train_step(params, joints, speeds, seen):
        def loss(params):
            told = jax.vmap(lambda q, v: velocities(params, q, v, is_fixed))(joints, speeds)
            return jnp.mean((told - seen) ** 2)

        value, grads = jax.value_and_grad(loss)(params)
        return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), value

    for step in clock.loop():
        with clock.mark(step):
            params, value = train_step(params, joints, speeds, seen)
            float(value)


if __name__ == "__main__":
    run(main)
