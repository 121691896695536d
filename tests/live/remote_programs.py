"""Programs that are recorded from outside: ``python -m tests.live.remote_programs KIND SECONDS``.

Each says its port, runs steps until its time is up or its standard input closes, and says how
many it made.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any


def free_port() -> int:
    """A port for the servers that take 0 without telling what they took."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def tensorflow_steps(marked: Callable[[int], Any]) -> Iterator[None]:
    import tensorflow as tf

    x = tf.random.normal((128, 128))

    @tf.function
    def train(value: Any) -> Any:
        return tf.linalg.matmul(value, value) * 0.001

    number = 0
    while True:
        with marked(number):
            train(x).numpy()
        number += 1
        yield


def of_tensorflow() -> tuple[int, Iterator[None]]:
    """TensorFlow, with its own server and marks."""
    import tensorflow as tf

    port = free_port()
    tf.profiler.experimental.server.start(port)
    trace = tf.profiler.experimental.Trace
    return port, tensorflow_steps(lambda number: trace("train", step_num=number, _r=1))


def of_jax() -> tuple[int, Iterator[None]]:
    """JAX, with its own server and marks."""
    import jax
    import jax.numpy as jnp

    port = free_port()
    jax.profiler.start_server(port)

    def steps() -> Iterator[None]:
        x = jnp.ones((128, 128))
        train = jax.jit(lambda value: value @ value * 0.001)
        number = 0
        while True:
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                train(x).block_until_ready()
            number += 1
            yield

    return port, steps()


def of_ours() -> tuple[int, Iterator[None]]:
    """TensorFlow, with our server and marks."""
    import stepscope

    port = stepscope.server.start(0).port
    trace = stepscope.Trace
    return port, tensorflow_steps(lambda number: trace("train", step_num=number, _r=1))


def of_torch() -> tuple[int, Iterator[None]]:
    """PyTorch with two forked loader workers an epoch, and our server."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    import stepscope

    port = stepscope.server.start(0).port
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(64, 64), torch.zeros(64, dtype=torch.long))
    model = torch.nn.Linear(64, 10)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def steps() -> Iterator[None]:
        number = 0
        while True:
            # Forks both workers again: fork meets captures as often as it can.
            for inputs, wanted in DataLoader(data, batch_size=8, num_workers=2):
                with stepscope.Trace("train", step_num=number, _r=1):
                    optimizer.zero_grad()
                    torch.nn.functional.cross_entropy(model(inputs), wanted).backward()
                    optimizer.step()
                number += 1
                yield

    return port, steps()


PROGRAMS: dict[str, Callable[[], tuple[int, Iterator[None]]]] = {
    "tensorflow": of_tensorflow,
    "jax": of_jax,
    "ours": of_ours,
    "torch": of_torch,
}


def main(kind: str, seconds: float) -> None:
    """Run one program."""
    port, steps = PROGRAMS[kind]()
    next(steps)
    print(port, flush=True)
    over = threading.Event()

    def wait_for_the_end() -> None:
        # Not sys.stdin: a thread inside it holds its lock, and a forked worker closes it.
        while os.read(0, 1):
            pass
        over.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    until, made = time.monotonic() + seconds, 1
    while time.monotonic() < until and not over.is_set():
        next(steps)
        made += 1
        if kind != "torch":
            time.sleep(0.005)
    steps.close()  # type: ignore[attr-defined]  # they are generators
    print(made, flush=True)
    sys.stdout.flush()
    # TensorFlow's server has threads that outlive the interpreter.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
