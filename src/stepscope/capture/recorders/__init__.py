"""The recorders, one file each, in the order in which they start.

Frameworks come first, so that their clocks start before ours; all end in the opposite order.
A line is ``"module:class"``: nothing is imported before a recording starts.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final, cast

from stepscope.capture.recorder import Recorder

#: Recorders that stand for a framework.
FRAMEWORKS: Final = ("tensorflow", "jax", "torch")

RECORDERS: Final[tuple[str, ...]] = (
    "stepscope.capture.recorders.tensorflow:TensorFlowRecorder",
    "stepscope.capture.recorders.jax:JaxRecorder",
    "stepscope.capture.recorders.torch:TorchRecorder",
    "stepscope.capture.recorders.annotations:AnnotationRecorder",
    "stepscope.capture.recorders.python_sampler:PythonSampler",
    "stepscope.capture.recorders.python_calls:PythonCalls",
    "stepscope.capture.recorders.telemetry:Telemetry",
)


def recorders() -> list[Recorder]:
    """A new recorder of each kind."""
    made = []
    for line in RECORDERS:
        module, _, name = line.partition(":")
        made.append(cast(Recorder, getattr(import_module(module), name)()))
    return made
