"""A particle filter that tracks a target by a learned sensor model."""
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "resampling compares the position of each particle with the whole cumulative sum of weights, where a binary search would do",
    "cause": "algorithm",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["resample", "reduce_sum", "cumulative"],
    "part": "develop",
}

PARTICLES = 1024
SENSORS = 12
HIDDEN = 64


def motion(key, states, dt=0.1):
    noise = 0.05 * jax.random.normal(key, states.shape)
    position, velocity = jnp.split(states, 2, -1)
    return jnp.concatenate([position + dt * velocity, velocity], -1) + noise


def likelihood(net, states, seen):
    x = jnp.tanh(states @ net["w1"] + net["b1"])
    x = jnp.tanh(x @ net["w2"])
    return -0.5 * jnp.sum((x @ net["w3"] - seen) ** 2, -1)


def resample(key, states, log_weights, by_search):
    weights = jax.nn.softmax(log_weights)
    cumulative = jnp.cumsum(weights)
    wanted = (jnp.arange(PARTICLES) + jax.random.uniform(key)) / PARTICLES
    if by_search:
        rows = jnp.searchsorted(cumulative, wanted)
    else:
        rows = jnp.sum(cumulative[None, :] < wanted[:, None], axis=1)  # planted
    return states[jnp.minimum(rows, PARTICLES - 1)]


@partial(jax.jit, static_argnames=("by_search",))
def filter_step(key, net, states, seen, by_search):
    move, draw = jax.random.split(key)
    states = motion(move, states)
    log_weights = likelihood(net, states, seen)
    estimate = jax.nn.softmax(log_weights) @ states
    return resample(draw, states, log_weights, by_search), estimate


class Tracker:
    def __init__(self, by_search):
        rng = np.random.default_rng(0)
        w = lambda a, b: jnp.asarray(rng.standard_normal((a, b)) * a**-0.5, jnp.float32)
        self.net = {"w1": w(4, HIDDEN), "b1": jnp.zeros(HIDDEN), "w2": w(HIDDEN, HIDDEN), "w3": w(HIDDEN, SENSORS)}
        self.states = jnp.asarray(rng.standard_normal((PARTICLES, 4)), jnp.float32)
        self.by_search = by_search
        self.track = []

    def observe(self, key, seen):
        self.states, estimate = filter_step(key, self.net, self.states, seen, by_search=self.by_search)
        self.track.append(np.asarray(estimate))


def main(clock):
    clock.plan(4, 5)
    tracker = Tracker(by_search=clock.fixed)
    measurements = np.random.default_rng(1).standard_normal((20, SENSORS)).astype("float32")
    keys = jax.random.split(jax.random.PRNGKey(3), 20)
    for step in clock.loop(lambda: tracker.states):
        with clock.mark(step, "observe"):
            tracker.observe(keys[step], measurements[step])


if __name__ == "__main__":
    run(main)
