import os
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the generator asks the compressed npz for its arrays again in each batch, which reads and inflates all of them",
    "cause": "an input pipeline that reads everything for a part",
    "accept": ["largest-part", "input-bound", "file-reads", "no-cache", "missing-prefetch", "python-bound", "idle-device"],
    "rules": ["input-bound", "file-reads", "no-cache", "missing-prefetch", "python-bound", "idle-device"],
    "words": ["npz", "NpzFile", "zipfile", "decompress", "_npyio_impl", "npyio", "batch_generator"],
    "part": "develop",
}  # fmt: skip

flags = dict(batch_size=128, learning_rate=1e-3, latent=16, hidden=512, beta1=0.9, beta2=0.999)


def write_shapes(path):
    """Sprites with a circle each, in the manner of dSprites."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:32, :32]
    centre = rng.uniform(8, 24, (8000, 2, 1, 1))
    radius = rng.uniform(3, 8, (8000, 1, 1))
    images = (rows - centre[:, 0]) ** 2 + (columns - centre[:, 1]) ** 2 < radius**2
    np.savez_compressed(path, imgs=images.astype(np.uint8), latents=radius[:, 0])


def batch_generator(path, batch_size, load_once):
    data = np.load(path)
    if load_once:
        data = {name: data[name] for name in data.files}
    count = len(data["latents"])
    rng = np.random.default_rng(1)
    while True:
        index = rng.integers(0, count, batch_size)
        yield data["imgs"][index].reshape(batch_size, -1).astype(np.float32)  # planted


def dense(key, inputs, outputs):
    return {"kernel": jax.random.normal(key, (inputs, outputs)) / inputs**0.5, "bias": jnp.zeros(outputs)}


def apply(layer, x):
    return x @ layer["kernel"] + layer["bias"]


def init_params(key, hidden, latent):
    sizes = dict(enc1=(1024, hidden), enc2=(hidden, 2 * latent), dec1=(latent, hidden), dec2=(hidden, 1024))
    keys = jax.random.split(key, len(sizes))
    return {name: dense(k, *size) for k, (name, size) in zip(keys, sizes.items())}


def elbo_loss(params, x, key):
    mean, logvar = jnp.split(apply(params["enc2"], jax.nn.relu(apply(params["enc1"], x))), 2, axis=1)
    z = mean + jnp.exp(0.5 * logvar) * jax.random.normal(key, mean.shape)
    logits = apply(params["dec2"], jax.nn.relu(apply(params["dec1"], z)))
    bce = jnp.sum(jnp.maximum(logits, 0) - logits * x + jnp.log1p(jnp.exp(-jnp.abs(logits))), 1)
    kl = -0.5 * jnp.sum(1 + logvar - mean**2 - jnp.exp(logvar), 1)
    return jnp.mean(bce + 4 * kl)


@jax.jit
def train_step(params, moments, count, x, key):
    loss, grads = jax.value_and_grad(elbo_loss)(params, x, key)
    b1, b2 = flags["beta1"], flags["beta2"]
    tmap = jax.tree_util.tree_map
    m = tmap(lambda a, g: b1 * a + (1 - b1) * g, moments[0], grads)
    v = tmap(lambda a, g: b2 * a + (1 - b2) * g * g, moments[1], grads)
    scale = flags["learning_rate"] * jnp.sqrt(1 - b2**count) / (1 - b1**count)
    params = tmap(lambda p, a, b: p - scale * a / (jnp.sqrt(b) + 1e-8), params, m, v)
    return params, (m, v), count + 1, loss


def main(clock):
    clock.plan(3, 4)
    path = os.path.join(clock.folder, "dsprites_like.npz")
    if not os.path.exists(path):
        write_shapes(path)
    batches = batch_generator(path, flags["batch_size"], clock.fixed)
    key = jax.random.PRNGKey(0)
    params = init_params(key, flags["hidden"], flags["latent"])
    zeros = jax.tree_util.tree_map(jnp.zeros_like, params)
    moments, count = (zeros, zeros), jnp.ones(())
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            key, sub = jax.random.split(key)
            params, moments, count, loss = train_step(params, moments, count, next(batches), sub)
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
