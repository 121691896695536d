import lzma
import os
import sys
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "loader threads read and unpack radar sweeps within the lock that guards the list of open archives",
    "cause": "lock contention",
    "accept": ["largest-part", "python-bound"],
    "rules": ["largest-part"],
    "words": ["lock in SweepArchive.sweep"],
    "part": "develop",
}
RAYS, GATES, SWEEPS, VOLUMES, BATCH, WORKERS = 90, 128, 12, 8, 8, 4


class SweepArchive:
    """Volumes of a weather radar on a share: each a file of packed sweeps."""

    ANSWERS_IN = 0.004

    def __init__(self, folder, is_fixed):
        self.folder, self.is_fixed = Path(folder), is_fixed
        self.lock = threading.Lock()
        self.open_files, self.places = {}, {}
        rng = np.random.default_rng(0)
        for volume in range(VOLUMES):
            at, places = 0, []
            with open(self.folder / f"volume{volume}.swp", "wb") as file:
                for _ in range(SWEEPS):
                    echo = np.cumsum(rng.integers(-1, 2, (RAYS, GATES)), axis=1).astype(np.int8)
                    packed = lzma.compress(echo.tobytes(), preset=0)
                    file.write(packed)
                    places.append((at, len(packed)))
                    at += len(packed)
            self.places[volume] = places

    def opened(self, volume):
        if volume not in self.open_files:
            path = self.folder / f"volume{volume}.swp"
            self.open_files[volume] = os.open(path, os.O_RDONLY)
        return self.open_files[volume]

    def unpack(self, file, volume, number):
        at, length = self.places[volume][number]
        time.sleep(self.ANSWERS_IN)
        packed = os.pread(file, length, at)
        return np.frombuffer(lzma.decompress(packed), np.int8).reshape(RAYS, GATES)

    def sweep(self, volume, number):
        if self.is_fixed:
            with self.lock:
                file = self.opened(volume)
            return self.unpack(file, volume, number)
        with self.lock:  # planted
            return self.unpack(self.opened(volume), volume, number)  # planted


class Batches:
    def __init__(self, archive, ahead=4):
        self.archive, self.rng = archive, np.random.default_rng(1)
        self.pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="sweeps")
        self.waiting = deque(self.submit() for _ in range(ahead))

    def pair(self, volume, number):
        now, later = (self.archive.sweep(volume, number + step) for step in (0, 1))
        return now.astype(np.float32) / 32, later.astype(np.float32) / 32

    def build(self, picks):
        pairs = [self.pair(volume, number) for volume, number in picks]
        return np.stack([one[0] for one in pairs]), np.stack([one[1] for one in pairs])

    def submit(self):
        volumes = self.rng.integers(0, VOLUMES, BATCH).tolist()
        numbers = self.rng.integers(0, SWEEPS - 1, BATCH).tolist()
        return self.pool.submit(self.build, list(zip(volumes, numbers)))

    def next(self):
        batch = self.waiting.popleft().result()
        self.waiting.append(self.submit())
        return batch

    def close(self):
        self.pool.shutdown(cancel_futures=True)


def forecast(params, echo):
    x = echo[..., None]
    for kernel in params:
        x = jax.lax.conv_general_dilated(
            jnp.tanh(x), kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
    return echo + x[..., 0]


@jax.jit
def update(params, now, later):
    loss = lambda params: jnp.mean((forecast(params, now) - later) ** 2)  # noqa: E731
    return jax.tree.map(lambda p, g: p - 1e-2 * g, params, jax.grad(loss)(params))


def main(clock):
    clock.plan(4, 20)
    batches = Batches(SweepArchive(clock.folder, clock.fixed))
    keys = jax.random.split(jax.random.PRNGKey(0), 2)
    params = [
        jax.random.normal(keys[0], (3, 3, 1, 4)) * 0.2,
        jax.random.normal(keys[1], (3, 3, 4, 1)) * 0.2,
    ]
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            now, later = batches.next()
            params = update(params, now, later)
    batches.close()


if __name__ == "__main__":
    run(main)
