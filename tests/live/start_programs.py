"""Programs whose start is slow for one planted reason each, as sources."""

from __future__ import annotations

from typing import Final

#: Steps by hand, as any loop has them.
_STEPS: Final = """
import stepscope, time
for number in range(12):
    with stepscope.step(number):
        end = time.perf_counter() + 0.005
        while time.perf_counter() < end:
            pass
"""

#: A package beside the program, imported by it.
SLOW_PACKAGE: Final = "import time\ntime.sleep(2)\n"

PROGRAMS: Final[dict[str, str]] = {
    "slow-import": f"import slowpackage\n{_STEPS}",
    "start-look-up": f"""
import _socket, socket, time

def unanswered(*arguments):
    time.sleep(2)
    raise socket.gaierror("no answer")

_socket.getaddrinfo = unanswered
try:
    socket.create_connection(("metrics.invalid", 80))
except OSError:
    pass
{_STEPS}""",
    "start-reading": f"""
import time

def load_weights(path):
    size = 0
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(1 << 18):
            size += len(piece)
            time.sleep(0.02)
    return size

with open("weights.bin", "wb") as file:
    for _ in range(24):
        file.write(bytes(1 << 20))
load_weights("weights.bin")
{_STEPS}""",
    "start-lock": f"""
import fcntl, subprocess, sys
HOLDER = '''
import fcntl, time
file = open("cache.lock", "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(3)
'''
holder = subprocess.Popen([sys.executable, "-S", "-c", HOLDER], stdout=subprocess.PIPE)
holder.stdout.readline()

def fill_cache():
    with open("cache.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

fill_cache()
{_STEPS}""",
    "start-processes": f"""
import subprocess, sys

def build_extension():
    subprocess.run([sys.executable, "-S", "-c", "import time; time.sleep(2.5)"])

build_extension()
{_STEPS}""",
}

TENSORFLOW_RETRACES: Final = """
import tensorflow as tf

@tf.function
def step(x, number):
    for _ in range(150):
        x = tf.tanh(x) * number
    return x

for number in range(6):
    step(tf.ones((8, 8)), number)
for _ in range(12):
    step(tf.ones((8, 8)), 0)
"""

JAX_COMPILES: Final = """
import jax, jax.numpy as jnp

@jax.jit
def step(x):
    for number in range(250):
        x = jnp.sin(x) @ x.T / (number + 1) + x
    return x

x = jnp.ones((16, 16))
import stepscope
for number in range(12):
    with stepscope.step(number):
        step(x).block_until_ready()
"""

TORCH_LOADS: Final = """
import torch

model = torch.nn.Linear(64, 64)
torch.save(model.state_dict(), "model.pt")
model.load_state_dict(torch.load("model.pt"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(12):
    optimizer.zero_grad()
    model(torch.ones(32, 64)).square().mean().backward()
    optimizer.step()
"""
