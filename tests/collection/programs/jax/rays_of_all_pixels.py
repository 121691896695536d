"""Tiny NeRF."""
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from clock import run
from nerf.rays import directions, poses_around, rays_of_images, rays_of_pixels

LABEL = {
    "planted": "rays of all pixels of all images are made in each step, of which 256 are drawn",
    "cause": "work whose result is thrown away",
    "accept": ["largest-part"],
    "rules": ["largest-part"],
    "words": ["rays_of_images", "rays.py", "draw_rays"],
    "part": "develop",
}

IMAGES, SIDE, FOCAL, RAYS, SAMPLES, FREQUENCIES, WIDTH = 40, 128, 150.0, 256, 32, 6, 96


class Views:
    def __init__(self, key):
        self.poses = poses_around(IMAGES)
        self.colours = jax.random.uniform(key, (IMAGES, SIDE, SIDE, 3))
        rows, columns = jnp.meshgrid(jnp.arange(SIDE, dtype=jnp.float32), jnp.arange(SIDE, dtype=jnp.float32), indexing="ij")
        self.grid = directions(rows, columns, SIDE, FOCAL)

    def draw_rays(self, key):
        index = jax.random.randint(key, (RAYS,), 0, IMAGES * SIDE * SIDE)
        rays = rays_of_images(self.poses, self.grid)  # planted
        return [one.reshape(-1, 3)[index] for one in (*rays, self.colours)]

    def draw_few(self, key):
        index = jax.random.randint(key, (RAYS,), 0, IMAGES * SIDE * SIDE)
        image, pixel = index // (SIDE * SIDE), index % (SIDE * SIDE)
        rays = rays_of_pixels(self.poses, pixel // SIDE, pixel % SIDE, image, SIDE, FOCAL)
        return [*rays, self.colours.reshape(-1, 3)[index]]


def encode(x):
    scaled = x[..., None, :] * 2.0 ** jnp.arange(FREQUENCIES)[:, None]
    return jnp.concatenate([x, *(f(scaled).reshape(*x.shape[:-1], -1) for f in (jnp.sin, jnp.cos))], -1)


def field(params, points, views):
    x = encode(points)
    for w in params["density"]:
        x = jax.nn.relu(x @ w)
    sigma = jax.nn.softplus(x @ params["sigma"])[..., 0]
    views = jnp.broadcast_to(encode(views)[:, None], (*x.shape[:-1], 3 + 6 * FREQUENCIES))
    hidden = jax.nn.relu(jnp.concatenate([x, views], -1) @ params["colour"])
    return sigma, jax.nn.sigmoid(hidden @ params["rgb"])


def render(params, key, origins, turned, views, near=2.0, far=6.0):
    depth = near + (far - near) * (jnp.arange(SAMPLES) + jax.random.uniform(key, (len(origins), SAMPLES))) / SAMPLES
    points = origins[:, None] + turned[:, None] * depth[..., None]
    sigma, rgb = field(params, points, views)
    alpha = 1 - jnp.exp(-sigma * (far - near) / SAMPLES)
    through = jnp.cumprod(jnp.concatenate([jnp.ones_like(alpha[:, :1]), 1 - alpha[:, :-1] + 1e-10], 1), 1)
    return jnp.sum((alpha * through)[..., None] * rgb, 1)


@jax.jit
def train_step(params, key, origins, turned, views, colours):
    def loss(params):
        return jnp.mean((render(params, key, origins, turned, views) - colours) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 5e-3 * g, params, grads), value


def init(key):
    first = 3 + 6 * FREQUENCIES
    shapes = {"sigma": (WIDTH, 1), "colour": (WIDTH + first, WIDTH), "rgb": (WIDTH, 3)}
    params = {name: 0.1 * jax.random.normal(jax.random.fold_in(key, i), s) for i, (name, s) in enumerate(shapes.items())}
    sizes = [first, WIDTH, WIDTH, WIDTH]
    params["density"] = [0.15 * jax.random.normal(jax.random.fold_in(key, 9 + a + i), (a, b)) for i, (a, b) in enumerate(zip(sizes, sizes[1:]))]
    return params


def main(clock):
    clock.plan(3, 2)
    views, params = Views(jax.random.PRNGKey(0)), init(jax.random.PRNGKey(1))
    draw = views.draw_few if clock.fixed else views.draw_rays
    key = jax.random.PRNGKey(2)
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            key, one, other = jax.random.split(key, 3)
            params, loss = train_step(params, one, *draw(other))
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
