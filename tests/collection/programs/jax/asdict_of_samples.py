"""Anchor-free detector (CenterNet-like) on samples that are dataclasses."""
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "collate takes fields by dataclasses.asdict, which copies every array and box deeply",
    "cause": "deep copies by a convenience of the standard library",
    "accept": ["largest-part", "python-bound"],
    "rules": ["python-bound", "largest-part"],
    "words": ["asdict", "_asdict_inner", "collate", "deepcopy"],
    "part": "develop",
}

SIDE, STRIDE, CLASSES, BOXES, BATCH = 64, 4, 8, 24, 24


@dataclass
class Box:
    x: float
    y: float
    w: float
    h: float
    kind: int
    crowd: bool = False
    tags: dict = field(default_factory=dict)


@dataclass
class Sample:
    name: str
    image: np.ndarray
    boxes: list
    meta: dict


def make_samples(count):
    rng = np.random.default_rng(0)
    samples = []
    for i in range(count):
        boxes = []
        for _ in range(BOXES):
            x, y, w, h = rng.random(4)
            boxes.append(Box(x, y, 0.3 * w, 0.3 * h, int(rng.integers(CLASSES)), tags={"source": "human", "score": 1.0}))
        image = rng.random((SIDE, SIDE, 3)).astype(np.float32)
        samples.append(Sample(f"{i:06d}.png", image, boxes, {"size": (SIDE, SIDE), "split": "train"}))
    return samples


def collate(samples):
    rows = [asdict(one) for one in samples]  # planted
    boxes = [[(b["x"], b["y"], b["w"], b["h"]) for b in row["boxes"]] for row in rows]
    kinds = [[b["kind"] for b in row["boxes"]] for row in rows]
    return np.stack([row["image"] for row in rows]), np.array(boxes, np.float32), np.array(kinds)


def collate_plain(samples):
    boxes = [[(b.x, b.y, b.w, b.h) for b in one.boxes] for one in samples]
    kinds = [[b.kind for b in one.boxes] for one in samples]
    return np.stack([one.image for one in samples]), np.array(boxes, np.float32), np.array(kinds)


def heat_map(boxes, kinds):
    """Where centres are, one map a class: [batch, side, side, classes]."""
    at = (jnp.arange(SIDE // STRIDE) + 0.5) / (SIDE // STRIDE)
    dx = (at[None, None, None, :] - boxes[:, :, 0, None, None]) ** 2
    dy = (at[None, None, :, None] - boxes[:, :, 1, None, None]) ** 2
    peak = jnp.exp(-(dx + dy) / 0.005)
    return jnp.einsum("bnhw,bnc->bhwc", peak, jax.nn.one_hot(kinds, CLASSES)).clip(0, 1)


def conv(x, w, stride=1):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@jax.jit
def train_step(params, images, boxes, kinds):
    def loss_of(params):
        x = jax.nn.relu(conv(images, params["c1"], 2))
        x = jax.nn.relu(conv(x, params["c2"], 2))
        x = x + jax.nn.relu(conv(x, params["c3"]))
        logits, truth = conv(x, params["heat"]), heat_map(boxes, kinds)
        p = jax.nn.sigmoid(logits)
        focal = truth * (1 - p) ** 2 * jax.nn.log_sigmoid(logits) + (1 - truth) ** 4 * p**2 * jax.nn.log_sigmoid(-logits)
        return -jnp.sum(focal) / len(images)

    loss, grads = jax.value_and_grad(loss_of)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 1e-4 * g, params, grads), loss


def main(clock):
    clock.plan(3, 6)
    shapes = {"c1": (3, 3, 3, 16), "c2": (3, 3, 16, 32), "c3": (3, 3, 32, 32), "heat": (1, 1, 32, CLASSES)}
    params = {k: 0.1 * jax.random.normal(jax.random.PRNGKey(i), s) for i, (k, s) in enumerate(shapes.items())}
    samples = make_samples(96)
    rng = np.random.default_rng(1)
    together = collate_plain if clock.fixed else collate
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            batch = together([samples[i] for i in rng.integers(0, len(samples), BATCH)])
            params, loss = train_step(params, *batch)
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
