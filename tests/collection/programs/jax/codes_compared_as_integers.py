"""Retrieval by binary codes: queries are encoded, and Hamming distances rank the archive."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "codes of plus and minus one are multiplied as 32-bit integers, for which the CPU has no fast matrix product; as floats the product is the same",
    "cause": "a dtype without a fast product",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["hamming", "dot_general", "dot"],
    "part": "develop",
}

ARCHIVE, BITS, QUERIES, PIXELS = 16_000, 256, 32, 1024


def init(key):
    a, b, c = jax.random.split(key, 3)
    scaled = lambda key, i, o: jax.random.normal(key, (i, o)) * i**-0.5
    return [scaled(a, PIXELS, 768), scaled(b, 768, 512), scaled(c, 512, BITS)]


def codes_of(p, images):
    h = jax.nn.relu(jax.nn.relu(images @ p[0]) @ p[1])
    return jnp.sign(h @ p[2])


def hamming(codes, archive):
    return (BITS - codes.astype(archive.dtype) @ archive.T) // 2  # planted


@partial(jax.jit, static_argnames="k")
def search(p, images, archive, k=10):
    distances = hamming(codes_of(p, images), archive)
    return jax.lax.top_k(-distances.astype(jnp.float32), k)


def main(clock):
    clock.plan(4, 6)
    rng = np.random.default_rng(0)
    kind = "float32" if clock.fixed else "int32"
    archive = jnp.asarray(rng.integers(0, 2, (ARCHIVE, BITS)) * 2 - 1, kind)
    p = init(jax.random.PRNGKey(0))
    found = jnp.zeros(())
    for step in clock.loop(lambda: found):
        with clock.mark(step, "request"):
            images = rng.random((QUERIES, PIXELS), dtype="float32")
            _, found = search(p, images, archive)
            np.asarray(found)


if __name__ == "__main__":
    run(main)
