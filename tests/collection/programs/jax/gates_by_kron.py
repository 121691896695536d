"""A variational quantum circuit, simulated: it learns to prepare a state."""
import sys
from functools import partial, reduce
from pathlib import Path

import jax
import jax.numpy as jnp

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "each gate of one qubit is blown up to a matrix on all nine by Kronecker products; it could act on one axis of the state",
    "cause": "needlessly large work for the same result",
    "accept": ["largest-part", "dominant-op"],
    "rules": ["dominant-op"],
    "words": ["widen", "kron", "apply_wide"],
    "part": "score",
}

QUBITS, LAYERS = 9, 3


def rotation(angles):
    a, b = angles[0] / 2, angles[1] / 2
    ry = jnp.array([[jnp.cos(a), -jnp.sin(a)], [jnp.sin(a), jnp.cos(a)]]).astype(jnp.complex64)
    phase = jnp.exp(1j * jnp.stack([-b, b])).astype(jnp.complex64)
    return phase[:, None] * ry


def widen(gate, qubit):
    parts = [jnp.eye(2, dtype=jnp.complex64)] * QUBITS
    parts[qubit] = gate
    return reduce(jnp.kron, parts)  # planted


def apply_wide(state, gate, qubit):
    return widen(gate, qubit) @ state  # planted


def apply_on_axis(state, gate, qubit):
    state = state.reshape((2**qubit, 2, -1))
    return jnp.einsum("ij,ajb->aib", gate, state).reshape(-1)


def entangle(state):
    bits = (jnp.arange(2**QUBITS)[:, None] >> jnp.arange(QUBITS)) & 1
    both = (bits[:, 1:] & bits[:, :-1]).sum(1)
    return state * jnp.where(both % 2 == 1, -1.0, 1.0)


def circuit(params, apply):
    state = jnp.zeros(2**QUBITS, jnp.complex64).at[0].set(1.0)
    for layer in range(LAYERS):
        for qubit in range(QUBITS):
            state = apply(state, rotation(params[layer, qubit]), qubit)
        state = entangle(state)
    return state


@partial(jax.jit, static_argnums=2)
def train_step(params, target, apply):
    def infidelity(params):
        return 1 - jnp.abs(jnp.vdot(target, circuit(params, apply))) ** 2

    loss, grads = jax.value_and_grad(infidelity)(params)
    return params - 0.2 * grads, loss


def main(clock):
    clock.plan(2, 4)
    a, b = jax.random.split(jax.random.PRNGKey(1))
    params = jax.random.normal(a, (LAYERS, QUBITS, 2))
    target = circuit(jax.random.normal(b, params.shape), apply_on_axis)
    apply = apply_on_axis if clock.fixed else apply_wide
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            params, loss = train_step(params, target, apply)
            loss.block_until_ready()


if __name__ == "__main__":
    run(main)
