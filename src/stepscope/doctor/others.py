"""Other profilers: the driver and the frameworks allow one at a time."""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.doctor.check import Check
from stepscope.doctor.system import System

# Process name → what it is. DCGM samples the same counters on data centre GPUs.
_PROCESSES = {
    "nsys": "Nsight Systems",
    "nsys-launcher": "Nsight Systems",
    "ncu": "Nsight Compute",
    "nv-nsight-cu-cl": "Nsight Compute",
    "nvprof": "nvprof",
    "nv-hostengine": "DCGM",
    "dcgm-exporter": "DCGM's exporter",
    "rocprof": "rocprof",
    "rocprofv3": "rocprofv3",
    "omniperf": "Omniperf",
    "vtune": "VTune",
}
_COUNTERS_ONLY = ("nv-hostengine", "dcgm-exporter")
# A variable that loads another profiler into every program started from here.
_VARIABLES = {
    "CUDA_INJECTION64_PATH": "a CUDA profiler",
    "NSYS_PROFILING_SESSION_ID": "Nsight Systems",
    "COMPUTE_PROFILE": "CUDA's old profiler",
    "ROCP_TOOL_LIB": "rocprof",
    "HSA_TOOLS_LIB": "a ROCm profiler",
    "KINETO_USE_DAEMON": "Kineto's daemon (dynolog)",
}


def others(system: System, logdir: str) -> Iterator[Check]:
    """Profilers that are running, or would be loaded into programs started from here."""
    quiet = True
    seen: dict[str, list[int]] = {}
    for pid, name in system.processes().items():
        if name in _PROCESSES:
            seen.setdefault(name, []).append(pid)
    for name, pids in sorted(seen.items()):
        quiet = False
        yield _running(name, sorted(pids))
    for variable, what in _VARIABLES.items():
        if system.environment.get(variable):
            quiet = False
            yield Check(
                "other-profiler",
                "warning",
                f"{variable} is set: {what} is loaded into programs started from here.",
                "CUPTI and ROCm's tracer allow one profiler per process; a second records no "
                "kernels.",
                f"unset {variable}",
            )
    if quiet:
        yield Check("other-profiler", "ok", "No other profiler found.")


def _running(name: str, pids: list[int]) -> Check:
    what = _PROCESSES[name]
    numbers = ", ".join(map(str, pids[:4]))
    if name in _COUNTERS_ONLY:
        return Check(
            "other-profiler",
            "warning",
            f"{what} is running (process {numbers}).",
            "While it samples profiling metrics, other profilers get no hardware counters; kernels "
            "are recorded anyway.",
            "dcgmi profile --pause before, dcgmi profile --resume after.",
        )
    return Check(
        "other-profiler",
        "problem",
        f"{what} is running (process {numbers}).",
        "It occupies the profiler of the program it runs; a second one records no kernels.",
        "Stop it, or record a program that it does not profile.",
    )
