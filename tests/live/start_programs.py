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

#: Causes that are work of the program: the kind and a word of the name of their part, the source.
OTHERS: Final[dict[str, tuple[str, str, str]]] = {
    "tokenizer": (
        "program",
        "build_tokenizer",
        f"""
import time

def build_tokenizer():
    merges, until = {{}}, time.process_time() + 2.5
    while time.process_time() < until:
        for number in range(5000):
            merges[number % 997, number % 991] = number
    return merges

build_tokenizer()
{_STEPS}""",
    ),
    "autotuning": (
        "autotuning",
        "Triton",
        f"""
import pathlib, sys

# The function by which Triton tries configurations.
pathlib.Path("autotuner.py").write_text('''
import time

def run():
    until = time.process_time() + 2.5
    while time.process_time() < until:
        sum(range(1000))
''')
sys.path.insert(0, "")
import autotuner

def first_call():
    autotuner.run()

first_call()
{_STEPS}""",
    ),
}

#: A rank that waits for another one, which comes three seconds late.
LATE_RANK: Final = f"""
import os, socket, subprocess, sys
os.environ["GLOO_SOCKET_IFNAME"] = "lo"
import torch.distributed

LATE = '''
import time
import torch.distributed
time.sleep(3)
torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:%d", rank=1, world_size=2)
time.sleep(5)
'''
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
environment = {{k: v for k, v in os.environ.items() if k != "STEPSCOPE_RECORD"}}
late = subprocess.Popen([sys.executable, "-c", LATE % port], env=environment)
torch.distributed.init_process_group(
    "gloo", init_method=f"tcp://127.0.0.1:{{port}}", rank=0, world_size=2
)
{_STEPS}
late.kill()
"""

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
