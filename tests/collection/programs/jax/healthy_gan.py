import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {"planted": None, "cause": "healthy", "accept": [], "rules": [], "words": [], "part": "develop"}


def network(params, x, last=lambda x: x):
    for w, b in params[:-1]:
        x = jax.nn.leaky_relu(x @ w + b, 0.2)
    w, b = params[-1]
    return last(x @ w + b)


def init(key, sizes):
    keys = jax.random.split(key, len(sizes))
    return [(jax.random.normal(k, (a, b)) * (2 / a) ** 0.5, jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]


def descend(params, grads, rate):
    return jax.tree_util.tree_map(lambda p, g: p - rate * g, params, grads)


@jax.jit
def train_step(generator, critic, real, key):
    noise = jax.random.normal(key, (len(real), 64))

    def critic_loss(critic):
        fake = network(generator, noise, jnp.tanh)
        return jnp.mean(jax.nn.softplus(-network(critic, real)) + jax.nn.softplus(network(critic, fake)))

    critic = descend(critic, jax.grad(critic_loss)(critic), 2e-3)

    def generator_loss(generator):
        return jnp.mean(jax.nn.softplus(-network(critic, network(generator, noise, jnp.tanh))))

    return descend(generator, jax.grad(generator_loss)(generator), 2e-3), critic


def main(clock):
    clock.plan(3, 3)
    key = jax.random.PRNGKey(0)
    generator, critic = init(key, [64, 512, 512, 784]), init(key, [784, 512, 512, 1])
    real = jax.random.uniform(key, (2048, 784), minval=-1)
    rows = jnp.arange(2048).reshape(8, 256)
    for step in clock.loop(lambda: (generator, critic)):
        with clock.mark(step):
            batch = real[rows[step % 8]]
            generator, critic = train_step(generator, critic, batch, jax.random.fold_in(key, step))
        if step % 50 == 49:
            print(step)


if __name__ == "__main__":
    run(main)
