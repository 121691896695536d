import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "momentum is applied leaf by leaf, outside of jit",
    "cause": "optimizer per parameter",
    "accept": ["eager-execution", "optimizer-per-variable", "python-optimizer"],
    "rules": ["eager-execution", "optimizer-per-variable", "python-optimizer"],
    "words": ["apply_momentum", "eager", "jit"],
    "part": "develop",
}


@jax.jit
def grads_of(params, x):
    def loss(params):
        y = x
        for name in sorted(params):
            y = y + jnp.tanh(y @ params[name])
        return jnp.mean(y**2)

    return jax.grad(loss)(params)


def apply_momentum(params, grads, velocity):
    for name in params:
        velocity[name] = 0.9 * velocity[name] + grads[name]  # planted
        params[name] = params[name] - 0.01 * velocity[name]  # planted
    return params, velocity


def main(clock):
    clock.plan(3, 5)
    apply = jax.jit(apply_momentum) if clock.fixed else apply_momentum
    key = jax.random.PRNGKey(0)
    params = {f"layer{i:02d}": jax.random.normal(key, (48, 48)) * 0.1 for i in range(30)}
    velocity = {name: jnp.zeros((48, 48)) for name in params}
    x = jax.random.normal(key, (16, 48))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            grads = grads_of(params, x)
            params, velocity = apply(params, grads, velocity)


if __name__ == "__main__":
    run(main)
