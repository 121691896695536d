"""The recorders, one file each, in the order in which they start.

Frameworks come first, so that their clocks start before ours; all end in the opposite order.
A line is ``"module:class"``: nothing is imported before a recording starts.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final, cast

from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorder import Recorded, Recorder

RECORDERS: Final[tuple[str, ...]] = (
    "stepscope.capture.recorders.tensorflow:TensorFlowRecorder",
    "stepscope.capture.recorders.jax:JaxRecorder",
    "stepscope.capture.recorders.torch:TorchRecorder",
    "stepscope.capture.recorders.annotations:AnnotationRecorder",
    "stepscope.capture.recorders.python_sampler:PythonSampler",
    "stepscope.capture.recorders.python_calls:PythonCalls",
    "stepscope.capture.recorders.garbage_collector:GarbageCollector",
    "stepscope.capture.recorders.telemetry:Telemetry",
    "stepscope.capture.recorders.start_up:StartUp",
)


class Unloadable:
    """A recorder whose module cannot be imported here: it fails when it is started."""

    def __init__(self, name: str, error: Exception) -> None:
        self.name = name
        self._error = error

    def unavailable(self) -> str | None:
        """Not known until it is started."""
        return None

    def start(self, options: ProfilerOptions) -> None:
        """Raise what importing it raised."""
        raise RuntimeError(f"its recorder cannot be loaded ({self._error})") from self._error

    def collect(self) -> Recorded:
        """Nothing."""
        return Recorded()

    def drop(self) -> None:
        """Nothing to forget."""


def recorders() -> list[Recorder]:
    """A new recorder of each kind."""
    made: list[Recorder] = []
    for line in RECORDERS:
        module, _, name = line.partition(":")
        try:
            made.append(cast(Recorder, getattr(import_module(module), name)()))
        except Exception as error:  # the others can still record
            made.append(Unloadable(module.rpartition(".")[2], error))
    return made
