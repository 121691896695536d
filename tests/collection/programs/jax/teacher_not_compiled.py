"""Mean teacher: a student, and a teacher that is the average of its past."""
import math
import sys
from pathlib import Path

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the student's step is compiled, the teacher's forward pass is not",
    "cause": "eager instead of compiled",
    "accept": ["largest-part", "eager-execution", "launch-bound", "tiny-kernels", "python-bound", "slow-launches", "no-xla"],
    "rules": ["eager-execution", "launch-bound", "tiny-kernels", "python-bound", "largest-part"],
    "words": ["teacher_of", "consult"],
    "part": "develop",
}


class Encoder(nn.Module):
    """Patches as words, no attention: a bag of patches."""

    width: int = 512
    classes: int = 10

    @nn.compact
    def __call__(self, images):
        b, h, w, c = images.shape
        x = images.reshape(b, h // 4, 4, w // 4, 4, c).swapaxes(2, 3).reshape(b, -1, 16 * c)
        x = nn.relu(nn.Dense(self.width)(x))
        x = nn.relu(nn.Dense(self.width)(x))
        return nn.Dense(self.classes)(x.mean(1))


class State(train_state.TrainState):
    teacher: dict


def teacher_of(model, compiled):
    def consult(params, images):
        return jax.nn.softmax(model.apply({"params": params}, images))  # planted

    return jax.jit(consult) if compiled else consult


@jax.jit
def train_step(state, labelled, labels, images, targets, weight):
    def loss_of(params):
        sure = optax.softmax_cross_entropy_with_integer_labels(state.apply_fn({"params": params}, labelled), labels)
        guess = jax.nn.softmax(state.apply_fn({"params": params}, images))
        return sure.mean() + weight * jnp.mean((guess - targets) ** 2)

    loss, grads = jax.value_and_grad(loss_of)(state.params)
    state = state.apply_gradients(grads=grads)
    teacher = optax.incremental_update(state.params, state.teacher, 0.01)
    return state.replace(teacher=teacher), loss


def ramp_up(step, over=200, top=10.0):
    at = min(1.0, step / over)
    return top * math.exp(-5.0 * (1 - at) ** 2)


def main(clock):
    clock.plan(4, 1)
    key = jax.random.PRNGKey(0)
    labelled = jax.random.uniform(key, (8, 32, 32, 3))
    images = jax.random.uniform(jax.random.fold_in(key, 1), (24, 32, 32, 3))
    labels = jax.random.randint(key, (8,), 0, 10)
    model = Encoder()
    params = model.init(key, labelled)["params"]
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, 100, 5000)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=1e-4))
    state = State.create(apply_fn=model.apply, params=params, tx=optimizer, teacher=params)
    teacher = teacher_of(model, compiled=clock.fixed)
    for step in clock.loop(lambda: state.params):
        with clock.mark(step):
            targets = teacher(state.teacher, images)
            state, loss = train_step(state, labelled, labels, images, targets, ramp_up(step))
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
