"""Frameworks and packages: versions without importing them, and known problems of these."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stepscope.doctor.check import Check
from stepscope.doctor.system import System

_FRAMEWORKS = ("tensorflow", "tensorflow-cpu", "tensorflow-rocm", "jax", "torch", "keras")
_JAX_GPU = ("jax-cuda12-plugin", "jax-cuda13-plugin", "jax-rocm60-plugin", "jax-rocm7-plugin")
_GPU_DEVICES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
_OPTIONS_DROPPED = ("2.20", "2.21")


def software(system: System, logdir: str) -> Iterator[Check]:
    """The frameworks in this Python, and known problems of their versions."""
    installed = {name: text for name in _FRAMEWORKS if (text := system.version(name))}
    if not installed:
        yield Check(
            "frameworks",
            "absent",
            "This Python has no framework.",
            hint="Run `stepscope doctor` with the Python that trains.",
        )
    else:
        names = ", ".join(f"{name} {text}" for name, text in installed.items())
        yield Check("frameworks", "ok", f"Installed: {names}.")
    yield from _known(installed)
    if any(system.exists(path) for path in _GPU_DEVICES):
        yield from _cpu_only_builds(system, installed)
    yield _grpc(system)


def _known(installed: dict[str, str]) -> Iterator[Check]:
    for name in ("tensorflow", "tensorflow-cpu", "tensorflow-rocm"):
        text = installed.get(name, "")
        if text.startswith(_OPTIONS_DROPPED):
            yield Check(
                "tensorflow-options",
                "warning",
                f"{name} {text} ignores every field of tf.profiler.experimental.ProfilerOptions.",
                "Its own profiler always records at the default levels.",
                "Record with Stepscope, whose levels take effect.",
            )


def _cpu_only_builds(system: System, installed: dict[str, str]) -> Iterator[Check]:
    """Builds that cannot use the GPU of this machine."""
    blind = []
    if "tensorflow-cpu" in installed:
        blind.append(("tensorflow-cpu", 'pip install "tensorflow[and-cuda]"'))
    if re.search(r"\+cpu", installed.get("torch", "")):
        blind.append(("torch for the CPU", "pip install torch, from pytorch.org's index for CUDA"))
    if "jax" in installed and not any(system.version(each) for each in _JAX_GPU):
        blind.append(("jax without a GPU plugin", 'pip install "jax[cuda12]"'))
    for name, hint in blind:
        yield Check(
            "cpu-build",
            "warning",
            f"This machine has a GPU, but {name} is installed.",
            "It runs on the CPU, so only the CPU is recorded.",
            hint,
        )


def _grpc(system: System) -> Check:
    text = system.version("grpcio")
    if text:
        return Check("grpcio", "ok", f"Recording from outside works: grpcio {text}.")
    return Check(
        "grpcio",
        "absent",
        "grpcio is not installed.",
        "stepscope.server and `stepscope capture` need it; recording from inside does not.",
        'pip install "stepscope[capture]"',
    )
