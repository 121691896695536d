"""AMD GPUs: the driver, permission to use the device, and the library that records kernels."""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.doctor.check import Check
from stepscope.doctor.place import MachineKind, place_of
from stepscope.doctor.system import System

_DEVICE = "/dev/kfd"
_MODULE = "/sys/module/amdgpu"
# Newest first; TensorFlow, JAX and PyTorch load the one of their ROCm.
_TRACERS = (
    "librocprofiler-sdk.so.1",
    "librocprofiler-sdk.so.0",
    "libroctracer64.so.4",
    "/opt/rocm/lib/librocprofiler-sdk.so.1",
    "/opt/rocm/lib/libroctracer64.so.4",
)
_GRANTS: dict[MachineKind, str] = {
    "machine": "sudo usermod -a -G render,video $USER, then log in again.",
    "docker": "docker run --device=/dev/kfd --device=/dev/dri --group-add video --group-add "
    "render --security-opt seccomp=unconfined …",
    "kubernetes": "Request amd.com/gpu in the container's limits (AMD's device plugin), and add "
    "the render group to the pod's securityContext.supplementalGroups.",
    "wsl": "Install ROCm for WSL; no group is needed there.",
}


def rocm(system: System, logdir: str) -> Iterator[Check]:
    """Driver, permission and tracer, if there is an AMD GPU."""
    has_device, has_module = system.exists(_DEVICE), system.exists(_MODULE)
    if not has_device and not has_module:
        yield Check("rocm-driver", "absent", "No AMD GPU.")
        return
    place = place_of(system)
    version = (system.text(f"{_MODULE}/version") or "").strip() or "the kernel's own"
    if not has_device:
        yield Check(
            "rocm-driver",
            "problem" if place in ("docker", "kubernetes") else "warning",
            f"The amdgpu driver ({version}) is loaded, but {_DEVICE} is missing.",
            "Frameworks see no GPU, so no GPU event is recorded.",
            _GRANTS[place] if place != "machine" else "Install ROCm's driver (amdgpu-dkms).",
        )
        return
    yield Check("rocm-driver", "ok", f"The amdgpu driver ({version}) is loaded.")
    yield _rights(system, place)
    yield _tracer(system)


def _rights(system: System, place: MachineKind) -> Check:
    nodes = [_DEVICE, *system.found("/dev/dri/renderD*")]
    closed = [path for path in nodes if not system.may_use(path)]
    if not closed:
        return Check("gpu-privilege", "ok", "This user may use the GPU.")
    return Check(
        "gpu-privilege",
        "problem",
        f"This user may not use {', '.join(closed)}.",
        "Frameworks see no GPU, so no GPU event is recorded.",
        _GRANTS[place],
    )


def _tracer(system: System) -> Check:
    failures = []
    for name in _TRACERS:
        library = system.library(name)
        if not isinstance(library, str):
            return Check("rocm-tracer", "ok", f"The tracer loads: {name}.")
        failures.append(library)
    release = (system.text("/opt/rocm/.info/version") or "").strip()
    found = (
        f"ROCm {release} is installed, but" if release else "ROCm is not installed in /opt/rocm:"
    )
    return Check(
        "rocm-tracer",
        "problem",
        f"{found} neither rocprofiler-sdk nor roctracer loads ({failures[0]}).",
        "One of them is needed to record kernels; recordings have no device events.",
        "sudo apt install rocprofiler-sdk roctracer, and add /opt/rocm/lib to LD_LIBRARY_PATH.",
    )
