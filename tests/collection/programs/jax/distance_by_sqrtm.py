"""A small GAN that logs the Fréchet distance of generated to real features."""
import logging
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each fourth step the Fréchet distance takes the square root of a matrix by SciPy",
    "cause": "a costly metric each few steps",
    "accept": ["largest-part", "python-bound", "uneven-steps", "slow-steps"],
    "rules": ["uneven-steps", "slow-steps", "python-bound", "largest-part"],
    "words": ["sqrtm", "frechet_distance", "FrechetLogger"],
    "part": "develop",
}

log = logging.getLogger("gan")
LATENT, DATA, HIDDEN, BATCH, FEATURES = 64, 784, 768, 256, 256


def dense(key, a, b):
    return {"w": jax.random.normal(key, (a, b)) * (2 / a) ** 0.5, "b": jnp.zeros(b)}


def mlp(params, x):
    for layer in params[:-1]:
        x = jax.nn.leaky_relu(x @ layer["w"] + layer["b"], 0.2)
    return x @ params[-1]["w"] + params[-1]["b"]


def frechet_distance(mu1, sigma1, mu2, sigma2, eps=1e-6):
    offset = eps * np.eye(len(sigma1))
    mean = scipy.linalg.sqrtm((sigma1 + offset) @ (sigma2 + offset))  # planted
    if np.iscomplexobj(mean):
        mean = mean.real
    return float(((mu1 - mu2) ** 2).sum() + np.trace(sigma1) + np.trace(sigma2) - 2 * np.trace(mean))


class FrechetLogger:
    def __init__(self, real, every):
        rng = np.random.default_rng(0)
        self.project = rng.normal(size=(DATA, FEATURES)).astype(np.float32) / DATA**0.5
        self.every, self.history = every, []
        self.mu, self.sigma = self.moments(real)

    def moments(self, images):
        features = np.maximum(np.asarray(images) @ self.project, 0)
        return features.mean(0), np.cov(features, rowvar=False)

    def __call__(self, step, fake):
        if step % self.every == 0:
            value = frechet_distance(self.mu, self.sigma, *self.moments(fake))  # planted
            self.history.append((step, value))
            log.info("step %d: distance %.2f", step, value)


def generator_loss(g, d, z):
    return jnp.mean(jax.nn.softplus(-mlp(d, jnp.tanh(mlp(g, z)))))


def discriminator_loss(d, g, z, real):
    fake = jnp.tanh(mlp(g, z))
    return jnp.mean(jax.nn.softplus(-mlp(d, real)) + jax.nn.softplus(mlp(d, fake)))


@jax.jit
def train_step(g, d, key, real):
    z = jax.random.normal(key, (BATCH, LATENT))
    step = lambda p, grad: p - 0.01 * grad
    d = jax.tree_util.tree_map(step, d, jax.grad(discriminator_loss)(d, g, z, real))
    g = jax.tree_util.tree_map(step, g, jax.grad(generator_loss)(g, d, z))
    return g, d, jnp.tanh(mlp(g, z))


def main(clock):
    clock.plan(4, 8)
    keys = jax.random.split(jax.random.PRNGKey(0), 7)
    sizes = [LATENT, HIDDEN, HIDDEN, DATA]
    g = [dense(k, a, b) for k, a, b in zip(keys[:3], sizes, sizes[1:])]
    d = [dense(k, a, b) for k, a, b in zip(keys[3:6], [DATA, HIDDEN, HIDDEN], [HIDDEN, HIDDEN, 1])]
    real = jax.random.uniform(keys[6], (BATCH, DATA), minval=-1.0)
    logger = FrechetLogger(real, every=10_000 if clock.fixed else 4)
    key = jax.random.PRNGKey(1)
    for step in clock.loop(lambda: g):
        with clock.mark(step):
            key, sub = jax.random.split(key)
            g, d, fake = train_step(g, d, sub, real)
            fake.block_until_ready()
            logger(step, fake)


if __name__ == "__main__":
    run(main)
