"""Machines we do not have, made of what their files, variables and libraries say."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field, replace

GIB = 1 << 30
NO_RIGHTS = "Name:\tpython\nCapEff:\t0000000000000000\n"
ALL_RIGHTS = "Name:\tpython\nCapEff:\t000001ffffffffff\n"


@dataclass
class FakeLibrary:
    """A library whose functions give these numbers."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, function: str) -> int | None:
        return self.numbers.get(function)


@dataclass
class FakeMachine:
    """See ``System``; what is not given is not there."""

    environment: dict[str, str] = field(default_factory=dict)
    platform: str = "linux"
    files: dict[str, str] = field(default_factory=dict)
    closed: tuple[str, ...] = ()
    free: dict[str, int] = field(default_factory=dict)
    libraries: dict[str, FakeLibrary | str] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    requirements: dict[str, list[str]] = field(default_factory=dict)
    running: dict[int, str] = field(default_factory=dict)
    clock: tuple[bool, float] | None = (True, 0.0001)

    def text(self, path: str) -> str | None:
        return self.files.get(path)

    def exists(self, path: str) -> bool:
        return path == "/" or any(one == path or one.startswith(path + "/") for one in self.files)

    def may_use(self, path: str) -> bool:
        return path not in self.closed

    def found(self, pattern: str) -> list[str]:
        return sorted(path for path in self.files if fnmatch.fnmatch(path, pattern))

    def free_bytes(self, path: str) -> int | None:
        return self.free.get(path, 100 * GIB)

    def library(self, name: str) -> FakeLibrary | str:
        return self.libraries.get(name, f"{name}: cannot open shared object file")

    def version(self, package: str) -> str | None:
        return self.packages.get(package)

    def requires(self, package: str) -> list[str]:
        return self.requirements.get(package, [])

    def package_folder(self, package: str) -> str | None:
        return "/site" if package in self.packages else None

    def processes(self) -> dict[int, str]:
        return self.running

    def clock_state(self) -> tuple[bool, float] | None:
        return self.clock


CUPTI_12 = "/site/nvidia/cuda_cupti/lib/libcupti.so.12"


def with_h100(**changes: object) -> FakeMachine:
    """A bare machine with an NVIDIA GPU where all is well: driver 550 runs CUDA 12.4."""
    machine = FakeMachine(
        files={
            "/dev/nvidiactl": "",
            "/proc/driver/nvidia/version": (
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 2024\n"
            ),
            "/proc/driver/nvidia/params": "EnableMSI: 1\nRmProfilingAdminOnly: 0\n",
            "/proc/self/status": NO_RIGHTS,
            "/proc/version": "Linux version 6.8.0-generic",
            CUPTI_12: "",
        },
        libraries={
            "libcuda.so.1": FakeLibrary({"cuDriverGetVersion": 12040}),
            CUPTI_12: FakeLibrary(),
        },
        packages={"torch": "2.6.0", "nvidia-cuda-cupti-cu12": "12.4.127", "grpcio": "1.60.0"},
        requirements={
            "torch": ['nvidia-cuda-cupti-cu12==12.4.127 ; platform_system == "Linux"'],
        },
    )
    return replace(machine, **changes)  # type: ignore[arg-type]  # names of fields


def admin_only(**files: str) -> FakeMachine:
    """The same, with profiling left to administrators, and more files."""
    machine = with_h100()
    machine.files["/proc/driver/nvidia/params"] = "RmProfilingAdminOnly: 1\n"
    machine.files.update({name.replace("__", "/"): text for name, text in files.items()})
    return machine


def with_mi300x(**changes: object) -> FakeMachine:
    """A bare machine with an AMD GPU where all is well."""
    machine = FakeMachine(
        files={
            "/dev/kfd": "",
            "/dev/dri/renderD128": "",
            "/sys/module/amdgpu/version": "6.10.5\n",
            "/opt/rocm/.info/version": "6.3.1-48\n",
            "/proc/version": "Linux version 6.8.0-generic",
        },
        libraries={"librocprofiler-sdk.so.0": FakeLibrary()},
        packages={"torch": "2.6.0+rocm6.2", "grpcio": "1.60.0"},
    )
    return replace(machine, **changes)  # type: ignore[arg-type]  # names of fields
