"""Cameras and rays."""
import jax
import jax.numpy as jnp
import numpy as np


def poses_around(count, radius=4.0):
    """Camera-to-world matrices on a circle, looking at its centre."""
    poses = []
    for angle in np.linspace(0, 2 * np.pi, count, endpoint=False):
        back = np.array([np.cos(angle), np.sin(angle), 0.4])
        back /= np.linalg.norm(back)
        right = np.cross([0.0, 0.0, 1.0], back)
        right /= np.linalg.norm(right)
        poses.append(np.stack([right, np.cross(back, right), back, radius * back], 1))
    return jnp.asarray(np.stack(poses), jnp.float32)


def directions(rows, columns, side, focal):
    """Of pixels, as the camera sees them."""
    half = side / 2
    return jnp.stack([(columns - half) / focal, -(rows - half) / focal, -jnp.ones_like(rows)], -1)


@jax.jit
def rays_of_images(poses, grid):
    """Origins, directions and view angles of all pixels of all images."""
    turned = jnp.einsum("nij,hwj->nhwi", poses[:, :, :3], grid)
    origins = jnp.broadcast_to(poses[:, None, None, :, 3], turned.shape)
    views = turned / jnp.linalg.norm(turned, axis=-1, keepdims=True)
    return origins, turned, views


@jax.jit
def rays_of_pixels(poses, rows, columns, images, side, focal):
    """Only those of some pixels."""
    chosen = poses[images]
    seen = directions(rows.astype(jnp.float32), columns.astype(jnp.float32), side, focal)
    turned = jnp.einsum("bij,bj->bi", chosen[:, :, :3], seen)
    return chosen[:, :, 3], turned, turned / jnp.linalg.norm(turned, axis=-1, keepdims=True)
