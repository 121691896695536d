import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the area under the curve is computed by comparing all pairs in numpy",
    "cause": "a slow metric",
    "accept": ["python-bound"],
    "rules": ["python-bound"],
    "words": ["area_under_curve"],
    "part": "develop",
}


def area_under_curve(scores, labels):
    positive, negative = scores[labels == 1], scores[labels == 0]
    wins = 0.0
    for score in positive:
        wins += np.sum(score > negative) + 0.5 * np.sum(score == negative)  # planted
    return wins / (len(positive) * len(negative))


def fast_area(scores, labels):
    rank = np.argsort(np.argsort(scores)) + 1
    n = labels.sum()
    return (rank[labels == 1].sum() - n * (n + 1) / 2) / (n * (len(labels) - n))


@jax.jit
def train_step(w, x, y):
    def loss(w):
        logits = (x @ w)[:, 0]
        return jnp.mean(jnp.logaddexp(0.0, -logits * (2.0 * y - 1.0))), logits

    (value, logits), grad = jax.value_and_grad(loss, has_aux=True)(w)
    return w - 0.1 * grad, logits


def main(clock):
    clock.plan(3, 6)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(800, 64)).astype(np.float32)
    y = (rng.random(800) > 0.5).astype(np.int32)
    w = jnp.zeros((64, 1))
    for step in clock.loop(lambda: w):
        with clock.mark(step):
            w, logits = train_step(w, x, y)
            scores = np.asarray(logits)
            auc = fast_area(scores, y) if clock.fixed else area_under_curve(scores, y)
    return auc


if __name__ == "__main__":
    run(main)
