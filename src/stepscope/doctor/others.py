"""Another profiler in the way: the driver and the frameworks serve one at a time."""

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
    """Profilers that run now, or would be loaded into programs started from here."""
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
                "CUPTI and ROCm's tracer serve one profiler a process; the second records no "
                "kernels.",
                f"unset {variable}",
            )
    if quiet:
        yield Check("other-profiler", "ok", "No other profiler is seen.")


def _running(name: str, pids: list[int]) -> Check:
    what = _PROCESSES[name]
    numbers = ", ".join(map(str, pids[:4]))
    if name in _COUNTERS_ONLY:
        return Check(
            "other-profiler",
            "warning",
            f"{what} runs (process {numbers}).",
            "While it samples profiling metrics, hardware counters are refused to others; kernels "
            "are recorded all the same.",
            "dcgmi profile --pause before, dcgmi profile --resume after.",
        )
    return Check(
        "other-profiler",
        "problem",
        f"{what} runs (process {numbers}).",
        "A program under it has its profiler taken already; the second records no kernels.",
        "Let it end, or record a program that it does not watch.",
    )
