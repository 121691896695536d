"""DrQ (Kostrikov et al. 2020): a critic on pixels, whose pictures are shifted at random."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
from jax.scipy.ndimage import map_coordinates

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "pictures are shifted by whole pixels through map_coordinates, which interpolates every pixel between four; a slice of the padded picture is the same",
    "cause": "a general op where a special one does",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["shift_one", "map_coordinates", "random_shift", "gather"],
    "part": "develop",
}

BATCH, SIDE, FRAMES, PAD, ACTIONS = 32, 72, 3, 4, 6


def shift_one(key, image, by_slice):
    image = jnp.pad(image, ((PAD, PAD), (PAD, PAD), (0, 0)), mode="edge")
    y, x = jax.random.randint(key, (2,), 0, 2 * PAD + 1)
    if by_slice:
        return jax.lax.dynamic_slice(image, (y, x, 0), (SIDE, SIDE, FRAMES))
    rows, columns = jnp.meshgrid(jnp.arange(SIDE) + y, jnp.arange(SIDE) + x, indexing="ij")
    plane = lambda one: map_coordinates(one, [rows * 1.0, columns * 1.0], order=1)  # planted
    return jax.vmap(plane, -1, -1)(image)  # planted


def random_shift(key, images, by_slice):
    return jax.vmap(partial(shift_one, by_slice=by_slice))(jax.random.split(key, len(images)), images)


def init(key):
    k = jax.random.split(key, 4)
    return {
        "conv1": 0.1 * jax.random.normal(k[0], (8, 8, FRAMES, 16)),
        "conv2": 0.1 * jax.random.normal(k[1], (4, 4, 16, 32)),
        "dense": 0.02 * jax.random.normal(k[2], (32 * 64, 128)),
        "out": 0.1 * jax.random.normal(k[3], (128, ACTIONS)),
    }


def critic(params, images):
    conv = lambda x, w, s: jax.nn.relu(jax.lax.conv_general_dilated(x, w, (s, s), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    h = conv(conv(images / 255.0 - 0.5, params["conv1"], 4), params["conv2"], 2)
    h = h.reshape(len(h), -1)
    return jax.nn.relu(h @ params["dense"][: h.shape[1]]) @ params["out"]


@partial(jax.jit, static_argnames="by_slice", donate_argnums=0)
def update(params, target, key, batch, by_slice):
    k1, k2 = jax.random.split(key)
    obs = random_shift(k1, batch["obs"], by_slice)
    following = random_shift(k2, batch["next_obs"], by_slice)
    wanted = batch["reward"] + 0.99 * critic(target, following).max(-1)

    def loss_fn(params):
        q = jnp.take_along_axis(critic(params, obs), batch["action"][:, None], 1)[:, 0]
        return jnp.mean((q - jax.lax.stop_gradient(wanted)) ** 2)

    grads = jax.grad(loss_fn)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 1e-3 * g, params, grads)


def main(clock):
    clock.plan(4, 3)
    key = jax.random.PRNGKey(0)
    params, target = init(key), init(key)
    images = jax.random.uniform(key, (2, BATCH, SIDE, SIDE, FRAMES), maxval=255.0)
    batch = {"obs": images[0], "next_obs": images[1], "reward": jnp.ones(BATCH), "action": jnp.arange(BATCH) % ACTIONS}
    for step in clock.loop(lambda: params):
        with clock.mark(step, "update"):
            params = update(params, target, jax.random.fold_in(key, step), batch, by_slice=clock.fixed)


if __name__ == "__main__":
    run(main)
