"""The options that a framework used, compared with those requested."""

from __future__ import annotations

from typing import Final

from stepscope.capture.options import ProfilerOptions
from stepscope.schema.xspace import Wire
from stepscope.wire import write as wire
from stepscope.wire.read import fields

# Field numbers of tensorflow.ProfileOptions.
_LEVELS: Final = {"host_tracer_level": 2, "device_tracer_level": 3, "python_tracer_level": 4}
_VERSION, _ENABLE_HLO = 5, 7
# JAX's session always records devices, and leaves Python to TensorFlow's where that is loaded.
_UNSUPPORTED: Final = {"jax": {"device_tracer_level", "python_tracer_level"}}


def encoded_options(options: ProfilerOptions) -> bytes:
    """The options as a ``ProfileOptions`` message, for recordings without a framework."""
    out = b"".join(wire.number(field, getattr(options, name)) for name, field in _LEVELS.items())
    return out + wire.number(_VERSION, 1) + wire.number(_ENABLE_HLO, options.include_hlo)


def differences(options: ProfilerOptions, used: bytes, framework: str) -> list[str]:
    """The differences, as sentences.

    Args:
        options: The requested options.
        used: The ``ProfileOptions`` that the framework wrote into its recording.
        framework: Name of the recorder.
    """
    try:
        every = fields(memoryview(used))
        found = {one.number: one.value for one in every if one.wire == Wire.VARINT}
    except ValueError:
        return [f"{framework} wrote options that cannot be read."]
    told = []
    for name, field in _LEVELS.items():
        asked, got = getattr(options, name), found.get(field, 0)
        if asked != got and name not in _UNSUPPORTED.get(framework, set()):
            told.append(f"{framework} recorded with {name}={got} instead of {asked}.")
    return told
