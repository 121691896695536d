import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "spectral norms start their power iteration from noise and take sixty rounds each step, where one round from the last vector does",
    "cause": "too many iterations",
    "accept": ["dominant-op"],
    "rules": ["dominant-op"],
    "words": ["spectral_norms", "power_iteration"],
    "part": "develop",
}


def power_iteration(w, u, rounds):
    def once(_, u):
        v = w.T @ u
        u = w @ (v / jnp.linalg.norm(v))
        return u / jnp.linalg.norm(u)

    return jax.lax.fori_loop(0, rounds, once, u)


def critic(params, norms, x):
    for w, n in zip(params[:-1], norms[:-1]):
        x = jax.nn.leaky_relu(x @ (w / n))
    return (x @ (params[-1] / norms[-1]))[:, 0]


@jax.jit
def sample(gen, z):
    return jnp.tanh(jnp.tanh(z @ gen[0]) @ gen[1])


@jax.jit
def critic_step(params, norms, real, fake):
    grads = jax.grad(lambda p: jnp.mean(critic(p, norms, fake)) - jnp.mean(critic(p, norms, real)))(params)
    return [p - 0.001 * g for p, g in zip(params, grads)]


@jax.jit
def generator_step(gen, params, norms, z):
    grads = jax.grad(lambda g: -jnp.mean(critic(params, norms, sample(g, z))))(gen)
    return [p - 0.001 * g for p, g in zip(gen, grads)]


def main(clock):
    clock.plan(3, 10)
    rounds = 1 if clock.fixed else 60

    @jax.jit
    def spectral_norms(params, us):
        us = [power_iteration(w, u, rounds) for w, u in zip(params, us)]  # planted
        return [jnp.linalg.norm(w.T @ u) for w, u in zip(params, us)], us

    k = jax.random.split(jax.random.PRNGKey(3), 9)
    params = [0.05 * jax.random.normal(a, s) for a, s in zip(k, [(256, 640), (640, 640), (640, 1)])]
    gen = [0.05 * jax.random.normal(k[4], (64, 256)), 0.05 * jax.random.normal(k[5], (256, 256))]
    us = [jnp.ones(len(w)) / len(w) for w in params]
    real, z = jax.random.normal(k[6], (128, 256)), jax.random.normal(k[7], (128, 64))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            norms, new = spectral_norms(params, us)
            us = new if clock.fixed else us
            fake = sample(gen, z)
            params = critic_step(params, norms, real, fake)
            gen = generator_step(gen, params, norms, z)
            jax.block_until_ready(gen)


if __name__ == "__main__":
    run(main)
