"""What every program of the collection shares: a watch around its loop, and ways to be recorded.

A program is written as people write theirs, with the fault that ``LABEL`` tells of, and calls
``clock.tick(step)`` at the top of its loop, where others call ``start`` and ``stop`` of a
profiler. The same program runs without the fault when ``clock.fixed`` is set, so that the saving
is measured and not guessed. Runs on Python 3.8 and later: old frameworks need old Pythons.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Iterator


class Way:
    """How a recording is begun, ended and marked; this one records nothing by itself."""

    def __init__(self, logdir: str, is_marked: bool) -> None:
        self.logdir = logdir
        self.is_marked = is_marked

    def start(self) -> None:
        """Begin to record."""

    def stop(self) -> None:
        """End the recording."""

    def step(self) -> None:
        """A step has ended."""

    def mark(self, step: int, name: str) -> Any:
        """A context manager around a step."""
        return contextlib.nullcontext()


class TensorFlowWay(Way):
    """``tf.profiler.experimental.start`` and ``stop``."""

    def start(self) -> None:
        import tensorflow as tf

        tf.profiler.experimental.start(self.logdir)

    def stop(self) -> None:
        import tensorflow as tf

        tf.profiler.experimental.stop()

    def mark(self, step: int, name: str) -> Any:
        import tensorflow as tf

        if not self.is_marked:
            return contextlib.nullcontext()
        return tf.profiler.experimental.Trace(name, step_num=step, _r=1)


class TensorFlowProfile(TensorFlowWay):
    """``with tf.profiler.experimental.Profile``."""

    def start(self) -> None:
        import tensorflow as tf

        self.inside = tf.profiler.experimental.Profile(self.logdir)
        self.inside.__enter__()

    def stop(self) -> None:
        self.inside.__exit__(None, None, None)


class JaxWay(Way):
    """``jax.profiler.start_trace`` and ``stop_trace``."""

    options: dict[str, Any] = {}

    def start(self) -> None:
        import jax

        jax.profiler.start_trace(self.logdir, **self.options)

    def stop(self) -> None:
        import jax

        jax.profiler.stop_trace()

    def mark(self, step: int, name: str) -> Any:
        import jax

        if not self.is_marked:
            return contextlib.nullcontext()
        return jax.profiler.StepTraceAnnotation(name, step_num=step)


class JaxTrace(JaxWay):
    """``with jax.profiler.trace``."""

    def start(self) -> None:
        import jax

        self.inside = jax.profiler.trace(self.logdir, **self.options)
        self.inside.__enter__()

    def stop(self) -> None:
        self.inside.__exit__(None, None, None)


class JaxPerfetto(JaxTrace):
    """``with jax.profiler.trace`` that leaves a file for Perfetto beside the XSpace."""

    options = {"create_perfetto_trace": True}


class StepscopeWay(Way):
    """``with stepscope.Profile``."""

    def start(self) -> None:
        import stepscope

        self.inside = stepscope.Profile(self.logdir)
        self.inside.__enter__()

    def stop(self) -> None:
        self.inside.__exit__(None, None, None)

    def mark(self, step: int, name: str) -> Any:
        import stepscope

        return stepscope.step(step) if self.is_marked else contextlib.nullcontext()


class KinetoWay(Way):
    """``torch.profiler.profile`` with its export for a Chrome trace."""

    with_stack = False

    def start(self) -> None:
        import torch
        from torch.profiler import ProfilerActivity, profile

        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        self.inside = profile(
            activities=activities, record_shapes=True, with_stack=self.with_stack
        )
        self.inside.__enter__()

    def step(self) -> None:
        if self.is_marked:
            self.inside.step()

    def stop(self) -> None:
        self.inside.__exit__(None, None, None)
        Path(self.logdir).mkdir(parents=True, exist_ok=True)
        self.inside.export_chrome_trace(str(Path(self.logdir) / "host_1.pt.trace.json.gz"))


class KinetoStack(KinetoWay):
    """``torch.profiler.profile`` with the Python calls, too."""

    with_stack = True


class KerasRange(Way):
    """``keras.callbacks.TensorBoard(profile_batch=(begin, end))``."""


class KerasOne(Way):
    """``keras.callbacks.TensorBoard(profile_batch=batch)``."""


class StepscopeKeras(Way):
    """``stepscope.keras.Callback``."""


class Record(Way):
    """``stepscope record program.py``: from the outside, the whole program."""


class NotRecorded(Way):
    """Only timed."""


# Name → kind and whether the program marks its steps.
WAYS: dict[str, tuple[type[Way], bool]] = {
    "start-stop": (TensorFlowWay, False),
    "start-stop-marks": (TensorFlowWay, True),
    "profile": (TensorFlowProfile, False),
    "profile-marks": (TensorFlowProfile, True),
    "keras-range": (KerasRange, False),
    "keras-one": (KerasOne, False),
    "start-trace": (JaxWay, False),
    "start-trace-marks": (JaxWay, True),
    "trace": (JaxTrace, False),
    "trace-marks": (JaxTrace, True),
    "perfetto": (JaxPerfetto, False),
    "stepscope-profile": (StepscopeWay, False),
    "stepscope-steps": (StepscopeWay, True),
    "stepscope-keras": (StepscopeKeras, False),
    "stepscope-record": (Record, False),
    "kineto": (KinetoWay, False),
    "kineto-steps": (KinetoWay, True),
    "kineto-stack": (KinetoStack, True),
    "none": (NotRecorded, False),
}


class Clock:
    """The watch of one run of a program.

    Attributes:
        fixed: Whether the program is to run without its fault.
        folder: Where the program may write.
        warm, steps: Steps before the recording, and within it.
        ticks: When each step that counts began, and when the last ended, in seconds.
    """

    def __init__(self, way: str, folder: str, fixed: bool = False) -> None:
        kind, is_marked = WAYS[way]
        self.way = kind(str(Path(folder) / "log"), is_marked)
        self.fixed = fixed
        self.folder = str(folder)
        self.plan(3, 8)
        self.ticks: list[float] = []

    def plan(self, warm: int, steps: int) -> None:
        """How many steps to run before the recording, and within it."""
        if isinstance(self.way, KerasOne):
            steps = 1
        self.warm, self.steps = warm, steps
        # The launcher records from the first step on.
        self.first = 0 if isinstance(self.way, Record) else warm
        self.last = warm + steps

    def tick(self, step: int, wait: Any = None) -> bool:
        """A step begins; true when the loop is to end.

        Args:
            step: Its number, from 0.
            wait: Arrays of JAX that end the steps so far; waited for at both ends.
        """
        if step not in (self.first, self.last):
            if step > self.first:
                self.ticks.append(time.perf_counter())
                self.way.step()
            return False
        settle(wait)
        if step == self.first:
            self.way.start()
            self.ticks.append(time.perf_counter())
            return False
        self.ticks.append(time.perf_counter())
        self.way.step()
        self.way.stop()
        return True

    def mark(self, step: int, name: str = "train") -> Any:
        """A context manager around a step, for ways that mark steps."""
        return self.way.mark(step, name)

    def loop(self, wait: Callable[[], Any] | None = None) -> Iterator[int]:
        """Numbers of steps, for ``for step in clock.loop()``."""
        step = 0
        while not self.tick(step, wait() if wait else None):
            yield step
            step += 1

    def keras(self) -> list[Any]:
        """Callbacks for ``fit``: the watch, and TensorBoard's for its ways."""
        import tensorflow as tf

        clock, ticks = self, self.ticks
        is_outside = isinstance(self.way, (KerasRange, KerasOne, StepscopeKeras, Record))

        class Watch(tf.keras.callbacks.Callback):  # type: ignore[misc]  # no types without TensorFlow
            seen = -1

            def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
                type(self).seen += 1
                if not is_outside:
                    clock.tick(self.seen)
                elif clock.first <= self.seen < clock.last:
                    ticks.append(time.perf_counter())

            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                if self.seen == clock.last - 1:
                    if not is_outside:
                        clock.tick(clock.last)
                    else:
                        ticks.append(time.perf_counter())
                    self.model.stop_training = True

        found = [Watch()]
        if isinstance(self.way, StepscopeKeras):
            import stepscope

            within = f"{self.first + 1},{self.last}"
            found.append(stepscope.keras.Callback(self.way.logdir, profile_batch=within))
        if isinstance(self.way, (KerasRange, KerasOne)):
            # Batches are counted from 1.
            batches: Any = (self.first + 1, self.last)
            if isinstance(self.way, KerasOne):
                batches = self.first + 1
            board = tf.keras.callbacks.TensorBoard(
                self.way.logdir, write_graph=False, profile_batch=batches
            )
            found.append(board)
        return found

    def answer(self) -> dict[str, Any]:
        """What was measured: one duration a step."""
        lengths = [1e3 * (b - a) for a, b in zip(self.ticks, self.ticks[1:])]
        return {
            "steps": len(lengths),
            "step_ms": round(sum(lengths) / len(lengths), 4),
            "each_ms": [round(one, 3) for one in lengths],
        }


def settle(wait: Any) -> None:
    """Wait for the arrays of JAX that end the steps so far, and for what CUDA has been given."""
    if wait is not None:
        import jax

        for array in jax.tree_util.tree_leaves(wait):
            array.block_until_ready()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Keep the GPU to oneself among programs that are started together; needs a file to lock."""
    path = os.environ.get("STEPSCOPE_COLLECTION_LOCK")
    if not path:
        yield
        return
    import fcntl

    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def versions() -> dict[str, str]:
    """Of Python and of the frameworks that are loaded."""
    found = {"python": platform.python_version()}
    for name in ("tensorflow", "keras", "jax", "torch", "numpy"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            found[name] = version
    return found


def run(main: Callable[[Clock], Any]) -> None:
    """Run a program as the command line asks, and write down what was measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--way", default="none", choices=WAYS)
    parser.add_argument("--folder", default="", help="where it may write; else a temporary folder")
    parser.add_argument("--pairs", type=int, default=0, help="timed runs with and without the fault")
    parser.add_argument("--json", default="", help="where to write what was measured")
    parser.add_argument("--fixed", action="store_true")
    given = parser.parse_args()
    with alone(), tempfile.TemporaryDirectory() as temporary:
        given.folder = given.folder or temporary
        os.makedirs(given.folder, exist_ok=True)
        answer = watch(main, given)
    if given.json:
        Path(given.json).write_text(json.dumps(answer))
    else:
        print(json.dumps(answer))


def watch(main: Callable[[Clock], Any], given: argparse.Namespace) -> dict[str, Any]:
    """Record a program once, and time it with and without its fault."""
    answer: dict[str, Any] = {"load": round(os.getloadavg()[0], 2), "versions": versions()}
    if given.pairs == 0 or given.way != "none":
        clock = Clock(given.way, given.folder, given.fixed)
        main(clock)
        answer["recorded"] = clock.answer()
    pairs: dict[str, list[float]] = {"fixed_ms": [], "faulty_ms": []}
    for _ in range(given.pairs):
        for name, fixed in (("fixed_ms", True), ("faulty_ms", False)):
            clock = Clock("none", given.folder, fixed)
            main(clock)
            pairs[name].append(clock.answer()["step_ms"])
    answer.update(pairs if given.pairs else {})
    return answer
