"""Pictures of a class by DDIM with classifier-free guidance."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the guidance scale is 1.0, so the unconditional pass of the net is multiplied by zero in each step of the sampler",
    "cause": "work done in vain",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["guided_noise", "unconditional"],
    "part": "develop",
}

SIZE, WIDTH, CLASSES, BATCH = 16, 64, 10, 8


def conv(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def init(key, blocks=3):
    keys = iter(jax.random.split(key, 2 * blocks + 4))
    kernel = lambda a, b, k=3: jax.random.normal(next(keys), (k, k, a, b)) * (k * k * a) ** -0.5
    return {
        "stem": kernel(3, WIDTH),
        "blocks": [(kernel(WIDTH, WIDTH), kernel(WIDTH, WIDTH)) for _ in range(blocks)],
        "out": kernel(WIDTH, 3),
        "classes": jax.random.normal(next(keys), (CLASSES + 1, WIDTH)),
        "time": jax.random.normal(next(keys), (32, WIDTH)) * 32**-0.5,
    }


def embed_time(t):
    angles = t[:, None] * jnp.exp(-jnp.linspace(0.0, 6.0, 16))
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1)


def unet(params, x, t, label):
    shift = (params["classes"][label] + embed_time(t) @ params["time"])[:, None, None]
    h = conv(x, params["stem"])
    for a, b in params["blocks"]:
        h = h + conv(jax.nn.silu(conv(jax.nn.silu(h + shift), a)), b)
    return conv(jax.nn.silu(h), params["out"])


def guided_noise(params, x, t, label, scale):
    conditional = unet(params, x, t, label)
    unconditional = unet(params, x, t, jnp.full_like(label, CLASSES))  # planted
    return unconditional + scale * (conditional - unconditional)


@partial(jax.jit, static_argnames="guided")
def denoise(params, x, t, alpha, alpha_next, label, scale, guided):
    t = jnp.full(len(x), t)
    if guided:
        noise = guided_noise(params, x, t, label, scale)
    else:
        noise = unet(params, x, t, label)
    clean = (x - jnp.sqrt(1 - alpha) * noise) / jnp.sqrt(alpha)
    return jnp.sqrt(alpha_next) * jnp.clip(clean, -1, 1) + jnp.sqrt(1 - alpha_next) * noise


def main(clock):
    clock.plan(3, 5)
    scale = 1.0
    params = init(jax.random.PRNGKey(0))
    alphas = jnp.cos(jnp.linspace(1.5, 0.05, 20)) ** 2
    x = jax.random.normal(jax.random.PRNGKey(1), (BATCH, SIZE, SIZE, 3))
    label = jnp.arange(BATCH) % CLASSES
    needs_guidance = scale != 1.0 or not clock.fixed
    for step in clock.loop(lambda: x):
        with clock.mark(step, "sample"):
            x = denoise(params, x, 1000.0 - 50 * step, alphas[step], alphas[step + 1], label, scale, needs_guidance)


if __name__ == "__main__":
    run(main)
