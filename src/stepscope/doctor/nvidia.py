"""NVIDIA GPUs: the driver, CUPTI (which records kernels), and permission to profile."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stepscope.doctor.check import Check
from stepscope.doctor.place import MachineKind, may_administrate, may_monitor, place_of
from stepscope.doctor.system import Library, System
from stepscope.records import dataclass

_DRIVER = "/proc/driver/nvidia/version"
_PARAMETERS = "/proc/driver/nvidia/params"
_DEVICES = ("/dev/nvidiactl", "/dev/dxg")
_LIBCUDA = ("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1")
# From this driver on, CAP_PERFMON suffices for counters.
_PERFMON_DRIVER = 565
_FRAMEWORKS = ("tensorflow", "torch", "jax-cuda12-plugin", "jax-cuda13-plugin")
_CUPTI_PACKAGE = re.compile(r"^(nvidia-cuda-cupti(?:-cu(\d+))?)\s*(\[.*?\])?\s*([^;]*)")
_CUPTI_FILE = re.compile(r"libcupti\.so\.(\d+)(?:\.(\d+))?")

_MODPROBE = (
    'echo "options nvidia NVreg_RestrictProfilingToAdminUsers=0" | sudo tee '
    "/etc/modprobe.d/nvidia-profiling.conf && sudo update-initramfs -u && sudo reboot "
    "(Fedora and RHEL: sudo dracut --force)"
)
_GRANTS: dict[MachineKind, str] = {
    "machine": f"{_MODPROBE}; or run the program as root.",
    "docker": "docker run --cap-add=SYS_ADMIN … (same for Podman); or on the host, for all "
    f"containers: {_MODPROBE}",
    "kubernetes": 'In the pod\'s container: securityContext: {capabilities: {add: ["SYS_ADMIN"]}}; '
    "or on the node, for all pods, set NVreg_RestrictProfilingToAdminUsers=0 (with the GPU "
    "Operator: driver.kernelModuleConfig).",
    "wsl": "On Windows, as administrator: NVIDIA Control Panel → Desktop → Enable Developer "
    "Settings → Manage GPU Performance Counters → Allow access to all users; then "
    "`wsl --shutdown`.",
}


def nvidia(system: System, logdir: str) -> Iterator[Check]:
    """Driver, CUPTI and permission, if there is an NVIDIA GPU."""
    has_device = any(system.exists(path) for path in _DEVICES)
    text = system.text(_DRIVER)
    if not has_device and text is None:
        yield Check("nvidia-driver", "absent", "No NVIDIA GPU.")
        return
    driver = _driver_version(text or "")
    cuda = _driver_cuda(system)
    yield _driver_check(system, driver, cuda, has_device)
    if cuda is None:
        return
    yield from _cupti(system, cuda)
    yield _privilege(system, driver)


def _driver_version(text: str) -> tuple[int, ...]:
    """Numbers of the driver's version; empty when the text has none."""
    found = re.search(r"(?:Kernel Module[^\d]{0,99}|\s)(\d{3,9}(?:\.\d{1,9}){1,4})", text)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def _driver_cuda(system: System) -> tuple[int, int] | None:
    """The newest CUDA that the driver can run; None when it cannot be asked."""
    for name in _LIBCUDA:
        library = system.library(name)
        number = None if isinstance(library, str) else library.number("cuDriverGetVersion")
        if number:
            return number // 1000, number % 1000 // 10
    return None


def _driver_check(
    system: System, driver: tuple[int, ...], cuda: tuple[int, int] | None, has_device: bool
) -> Check:
    name = ".".join(map(str, driver)) or "of unknown version"
    if cuda is not None and has_device:
        return Check(
            "nvidia-driver", "ok", f"Driver {name} supports CUDA up to {cuda[0]}.{cuda[1]}."
        )
    if not has_device:
        return Check(
            "nvidia-driver",
            "problem",
            f"Driver {name} is loaded, but this container has no access to its devices.",
            "Frameworks see no GPU, so no GPU event is recorded.",
            "docker run --gpus all … (needs the NVIDIA Container Toolkit); in Kubernetes, request "
            "nvidia.com/gpu in the container's limits.",
        )
    return Check(
        "nvidia-driver",
        "problem",
        f"This machine has a GPU (driver {name}), but libcuda.so.1 is not usable.",
        "Frameworks see no GPU, so no GPU event is recorded.",
        "Run nvidia-smi for the cause. After a driver update, restart the machine; start a "
        "container with --gpus all and NVIDIA_DRIVER_CAPABILITIES=compute,utility.",
    )


@dataclass(frozen=True)
class _Cupti:
    """A CUPTI library that was found."""

    path: str
    major: int
    problem: str


def _cupti(system: System, cuda: tuple[int, int]) -> Iterator[Check]:
    found = _libraries(system)
    loadable = [each for each in found if not each.problem]
    if not found:
        yield Check(
            "cupti",
            "problem",
            "CUPTI (libcupti.so) was not found.",
            "Without it no framework records kernels; recordings have no device events.",
            f"pip install nvidia-cuda-cupti-cu{cuda[0]}, or add "
            "/usr/local/cuda/extras/CUPTI/lib64 to LD_LIBRARY_PATH.",
        )
        return
    if not loadable:
        yield Check(
            "cupti",
            "problem",
            f"CUPTI is at {found[0].path}, but does not load: {found[0].problem}",
            "Without it no framework records kernels; recordings have no device events.",
            "Reinstall the package it came with, or the CUDA toolkit.",
        )
        return
    yield _version_check(system, loadable, cuda)
    yield from _wanted_versions(system)


def _libraries(system: System) -> list[_Cupti]:
    places = [
        f"{entry}/libcupti.so*"
        for entry in system.environment.get("LD_LIBRARY_PATH", "").split(":")
        if entry
    ]
    for package in (*(f"nvidia-cuda-cupti-cu{n}" for n in (13, 12, 11)), "nvidia-cuda-cupti"):
        folder = system.package_folder(package)
        if folder is not None:
            places += [
                f"{folder}/nvidia/cuda_cupti/lib/libcupti.so*",
                f"{folder}/nvidia/cu1*/lib/libcupti.so*",
            ]
    places += [
        "/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so*",
        "/usr/local/cuda*/lib64/libcupti.so*",
        "/usr/local/cuda*/targets/*/lib/libcupti.so*",
        "/usr/lib/x86_64-linux-gnu/libcupti.so*",
        "/usr/lib/aarch64-linux-gnu/libcupti.so*",
        "/usr/lib64/libcupti.so*",
    ]
    paths = dict.fromkeys(path for place in places for path in system.found(place))
    return [
        _Cupti(path, _major(path), _load_problem(system.library(path)))
        for path in paths
        if _CUPTI_FILE.search(path)
    ]


def _load_problem(library: Library | str) -> str:
    return library if isinstance(library, str) else ""


def _major(path: str) -> int:
    """CUDA's major version in a library's file name."""
    match = _CUPTI_FILE.search(path)
    return int(match[1]) if match else 0


def _version_check(system: System, loadable: list[_Cupti], cuda: tuple[int, int]) -> Check:
    fitting = [each for each in loadable if each.major <= cuda[0]]
    if fitting:
        names = ", ".join(each.path for each in fitting[:2])
        return Check("cupti", "ok", f"CUPTI loads: {names}.")
    newest = min(each.major for each in loadable)
    return Check(
        "cupti",
        "problem",
        f"CUPTI belongs to CUDA {newest}; the driver supports CUDA {cuda[0]}.{cuda[1]} at most.",
        "CUPTI does not start, so no kernel is recorded.",
        f"Update the driver to one for CUDA {newest}, or install the framework for CUDA {cuda[0]}.",
    )


def _wanted_versions(system: System) -> Iterator[Check]:
    """Frameworks that require another CUPTI than the installed one."""
    for framework in _FRAMEWORKS:
        for line in system.requires(framework):
            match = _CUPTI_PACKAGE.match(line)
            if match is None:
                continue
            package, wanted = match[1], match[4].strip(" ()")
            has = system.version(package)
            if has is None or not wanted.startswith("==") or wanted == f"=={has}":
                continue
            yield Check(
                "cupti-version",
                "warning",
                f"{framework} {system.version(framework)} was built with {package}{wanted}, and "
                f"{has} is installed.",
                "Another version may silently lose kernels or fields.",
                f'pip install "{package}{wanted}"',
            )


def _privilege(system: System, driver: tuple[int, ...]) -> Check:
    place = place_of(system)
    admin_only = "RmProfilingAdminOnly: 1" in (system.text(_PARAMETERS) or "")
    if place == "wsl" and system.text(_PARAMETERS) is None:
        return Check(
            "gpu-privilege",
            "warning",
            "Windows decides whether this user may profile the GPU; that cannot be seen here.",
            "Without permission, recordings have no device events (CUPTI_ERROR_INSUFFICIENT_"
            "PRIVILEGES in the program's output).",
            _GRANTS["wsl"],
        )
    granted = may_administrate(system)
    if driver and driver[0] >= _PERFMON_DRIVER:
        granted = granted or may_monitor(system)
    if not admin_only or granted:
        return Check("gpu-privilege", "ok", "This process may profile the GPU.")
    return Check(
        "gpu-privilege",
        "warning",
        "The driver lets only administrators profile (RmProfilingAdminOnly: 1), and this process "
        "does not run as one.",
        "Hardware counters are refused; with CUDA before 10.2, in many containers and on some "
        "data centre GPUs, so are kernels (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES).",
        _GRANTS[place],
    )
