"""Spoken commands from WAV files: a small net on spectrograms."""
import io
import struct
import sys
import wave
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from clock import run

LABEL = {
    "planted": "the bytes of each WAV file become numbers by struct.unpack, one Python int for each sample, and an array is made of the tuple",
    "cause": "Python work in the input",
    "accept": ["largest-part", "input-bound", "python-bound", "python-in-pipeline", "host-input-limit"],
    "rules": ["input-bound", "python-bound", "python-in-pipeline", "host-input-limit"],
    "words": ["read_wav", "struct.unpack", "unpack"],
    "part": "develop",
}

RATE, BATCH, CLASSES, FILES = 16000, 12, 12, 48


def make_wav(rng):
    t = np.arange(RATE) / RATE
    sound = np.sin(2 * np.pi * rng.integers(100, 2000) * t) + 0.1 * rng.standard_normal(RATE)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((8000 * sound).astype("<i2").tobytes())
    return buffer.getvalue()


def read_wav(data, by_buffer):
    with wave.open(io.BytesIO(data)) as file:
        count = file.getnframes()
        frames = file.readframes(count)
    if by_buffer:
        samples = np.frombuffer(frames, "<i2")
    else:
        samples = np.array(struct.unpack(f"<{count}h", frames))  # planted
    return samples.astype("float32") / 32768


def batches(files, labels, by_buffer):
    rng = np.random.default_rng(1)
    while True:
        rows = rng.integers(0, len(files), BATCH)
        yield np.stack([read_wav(files[i], by_buffer) for i in rows]), labels[rows]


def init(key):
    k = jax.random.split(key, 3)
    return {"conv": 0.05 * jax.random.normal(k[0], (5, 129, 64)), "conv2": 0.1 * jax.random.normal(k[1], (5, 64, 64)), "head": 0.1 * jax.random.normal(k[2], (64, CLASSES))}


def logits_of(params, sound):
    frames = sound[:, : RATE // 256 * 256].reshape(len(sound), -1, 256) * jnp.hanning(256)
    x = jnp.log1p(jnp.abs(jnp.fft.rfft(frames)))
    for name in ("conv", "conv2"):
        x = jax.nn.relu(jax.lax.conv_general_dilated(x, params[name], (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")))
    return x.mean(1) @ params["head"]


@jax.jit
def train_step(params, sound, labels):
    def loss_fn(params):
        return -jnp.take_along_axis(jax.nn.log_softmax(logits_of(params, sound)), labels[:, None], 1).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree_util.tree_map(lambda p, g: p - 1e-2 * g, params, grads), loss


def main(clock):
    clock.plan(3, 4)
    rng = np.random.default_rng(0)
    files = [make_wav(rng) for _ in range(FILES)]
    data = batches(files, rng.integers(0, CLASSES, FILES), by_buffer=clock.fixed)
    params = init(jax.random.PRNGKey(0))
    for step in clock.loop(lambda: params):
        with clock.mark(step):
            sound, labels = next(data)
            params, loss = train_step(params, sound, labels)


if __name__ == "__main__":
    run(main)
