"""Programs that train with PyTorch under our recording; run as a process of its own.

python -m tests.live.torch_programs FOLDER
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

import stepscope
from stepscope.capture.result import Capture
from stepscope.capture.runtime.machine import resident_bytes

STEPS = 24
LOAD_SECONDS = 0.004  # per batch of 4, against a step of some ms


class Images(Dataset[tuple[torch.Tensor, int]]):  # type: ignore[misc]  # torch may be missing
    """A data set that takes its time."""

    def __len__(self) -> int:
        return STEPS * 4

    def __getitem__(self, row: int) -> tuple[torch.Tensor, int]:
        time.sleep(LOAD_SECONDS / 4)
        return torch.randn(1, 16, 16), row % 10


model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 14 * 14, 10)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(workers: int = 0, between: Callable[[], None] = lambda: None) -> None:
    for images, labels in DataLoader(Images(), batch_size=4, num_workers=workers):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        between()


def loader(folder: Path) -> Capture:
    """A loop with a data loader in the same process."""
    stepscope.start(folder, options())
    train()
    return stepscope.stop()


def workers(folder: Path) -> Capture:
    """The same with two worker processes."""
    stepscope.start(folder, options())
    train(workers=2)
    return stepscope.stop()


def chunks(folder: Path) -> Capture:
    """Written piece by piece: the profiler ends and begins again on the main thread."""
    stepscope.start(folder, options(chunk_seconds=0.05))
    train(between=lambda: time.sleep(0.01))
    return stepscope.stop()


def chunks_in_a_range(folder: Path) -> Capture:
    """One range of the program's around everything: there is no place to cut at."""
    stepscope.start(folder, options(chunk_seconds=0.05))
    with torch.autograd.profiler.record_function("epoch"):
        train(between=lambda: time.sleep(0.01))
    return stepscope.stop()


def ended_in_a_range(folder: Path) -> Capture:
    """Recorded again within the range in which the first recording ended; then after it."""
    with torch.autograd.profiler.record_function("not seen to begin"):
        stepscope.start(folder / "first", options())
        epoch = torch.autograd.profiler.record_function("epoch")
        epoch.__enter__()
        train()
        stepscope.stop()
        stepscope.start(folder / "within", options())
        train()
        within = stepscope.stop()
    epoch.__exit__(None, None, None)
    del epoch
    (told,) = (note.message for note in within.warnings if note.slug == "recorder-failed")
    assert "epoch" in told, told
    stepscope.start(folder / "after", options())
    train()
    return stepscope.stop()


def again_and_again(folder: Path) -> Capture:
    """Captures by another thread, each ending wherever the training is."""
    found: list[Capture] = []

    def record() -> None:
        for number in range(5):
            stepscope.start(folder / str(number), options())
            time.sleep(0.05)
            found.append(stepscope.stop())

    thread = threading.Thread(target=record)
    thread.start()
    while thread.is_alive():
        train()
    assert all(capture.counts.get("torch") for capture in found), found
    return found[-1]


def from_outside(folder: Path) -> Capture:
    """Started and stopped by another thread than the one that trains."""
    found: list[Capture] = []

    def record() -> None:
        stepscope.start(folder, options())
        began.set()
        done.wait(60)
        found.append(stepscope.stop())

    began, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=record)
    thread.start()
    began.wait(60)
    train()
    done.set()
    thread.join()
    return found[0]


def served(folder: Path) -> Capture:
    """The model runs on a thread that was there before, for others that come while it records."""
    asked: queue.Queue[torch.Tensor | None] = queue.Queue()
    answered = threading.Semaphore(0)

    def serve() -> None:
        while (images := asked.get()) is not None:
            with torch.inference_mode():
                model(images)
            answered.release()

    def ask() -> None:
        for _ in range(STEPS):
            asked.put(torch.zeros(4, 1, 16, 16))
            answered.acquire()

    worker = threading.Thread(target=serve, name="model-worker")
    worker.start()
    stepscope.start(folder, options())
    clients = [threading.Thread(target=ask) for _ in range(2)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    found = stepscope.stop()
    asked.put(None)
    worker.join()
    return found


def stopped_elsewhere(folder: Path) -> Capture:
    """Started by the main thread, stopped by another one for which the main thread waits."""
    stepscope.start(folder, options())
    train()
    found: list[Capture] = []
    thread = threading.Thread(target=lambda: found.append(stepscope.stop()))
    thread.start()
    thread.join()
    return found[0]


def annotated(folder: Path) -> Capture:
    """Steps marked by the program, and Python's calls as PyTorch traces them."""
    stepscope.start(folder, options(python_tracer_level=1, host_tracer_level=3))
    for number in range(5):
        with stepscope.step(number + 100), stepscope.Trace("forward, all", part="a,b"):
            optimizer.zero_grad()
            model(torch.randn(4, 1, 16, 16)).sum().backward()
            optimizer.step()
    return stepscope.stop()


LARGE = 1 << 20  # numbers of a tensor: glibc maps what is larger, and keeps what it has mapped once


def large_tensors(times: int) -> int:
    """How much the process grows, in bytes, by ops whose results are dropped at once."""
    before = resident_bytes() or 0
    one = torch.ones(LARGE)
    for _ in range(times):
        one = (one * 0.5 + 1.0).exp().log()
    return (resident_bytes() or 0) - before


def in_pieces(folder: Path) -> Capture:
    """Ops on large tensors, with shapes: the profiler keeps something of each."""
    large_tensors(20)
    stepscope.start(folder, options(chunk_seconds=None, max_events=None))
    grown = sum(large_tensors(100) for _ in range(12))
    capture = stepscope.stop()
    assert grown < 3 << 30, f"{grown:,} bytes"  # 15 GB where nobody ends it
    return capture


def forked(folder: Path) -> Capture:
    """A child process goes on with such ops for as long as it lives."""
    large_tensors(20)
    stepscope.start(folder, options(chunk_seconds=None))
    told, tell = os.pipe()
    if not (child := os.fork()):
        os.write(tell, str(large_tensors(400)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    grown = int(os.read(told, 100))
    torch.ones(3).sum()
    assert grown < 1 << 28, f"{grown:,} bytes"  # 5 GB where the child's ops are recorded
    return stepscope.stop()


def busy(folder: Path) -> Capture:
    """The program's own torch.profiler records already: it wins, and we say so."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as theirs:
        stepscope.start(folder, options())
        train()
        capture = stepscope.stop()
    assert len(theirs.events()) > 100
    return capture


def scheduled(folder: Path) -> Capture:
    """A loop that says when its steps end; the last cycle's recording is given back."""
    plan = stepscope.torch.schedule(wait=2, warmup=1, active=4, repeat=2)
    with stepscope.torch.profile(folder, plan, options=options(), verbose=True) as loop:
        train(between=loop.step)
    assert len(loop.captures) == 2
    assert loop.captures[0].path != loop.captures[1].path
    last: Capture = loop.captures[-1]
    return last


def watched(folder: Path) -> Capture:
    """A loop that knows of nothing: its optimizer's steps are counted."""
    watching = stepscope.torch.watch(folder, "5,9", options=options(), verbose=False)
    train()
    watching.__exit__(None, None, None)
    (capture,) = watching.captures
    assert isinstance(capture, Capture)
    return capture


def without_host(folder: Path) -> Capture:
    """Nothing of the host is asked for: its ops run as if nobody recorded."""
    stepscope.start(folder, options(host_tracer_level=0))
    on: set[bool] = set()
    train(between=lambda: on.add(torch.autograd._profiler_enabled()))
    with stepscope.step(7):
        train()
    assert on == {False}
    return stepscope.stop()


def ranges_alone(folder: Path) -> Capture:
    """Ops that nobody asked for: they cost as much as others, and are thrown away."""
    stepscope.start(folder, options(host_tracer_level=1, memory=False, price=1.2))
    one, until = torch.ones(8, 8), time.monotonic() + 3.0
    while time.monotonic() < until:
        with torch.profiler.record_function("a range"):
            for _ in range(100):
                one = torch.tanh(one)
    return stepscope.stop()


def options(**given: Any) -> stepscope.ProfilerOptions:
    return stepscope.ProfilerOptions(frameworks=("torch",), **given)


PROGRAMS = (
    loader, workers, chunks, chunks_in_a_range, ended_in_a_range, again_and_again, from_outside,
    served, stopped_elsewhere, annotated, busy, scheduled, watched, forked,
    without_host, ranges_alone,
)  # fmt: skip

# What looks at the process's heap: each by its name, in a process where no other one has run.
ALONE = (in_pieces,)


def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    train()
    for program in [one for one in ALONE if one.__name__ in sys.argv[2:]] or PROGRAMS:
        capture = program(folder / program.__name__)
        said = {
            "path": capture.path,
            "counts": capture.counts,
            "warnings": [[note.slug, note.message] for note in capture.warnings],
        }
        (folder / f"{program.__name__}.json").write_text(json.dumps(said), "utf-8")


if __name__ == "__main__":
    main()
