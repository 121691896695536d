"""What the doctor says of machines with and without GPUs, rights, room and rivals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepscope import doctor
from stepscope.doctor import Check, Machine, System, examine
from tests.unit.doctor.made_up import (
    ALL_RIGHTS,
    CUPTI_12,
    GIB,
    FakeLibrary,
    FakeMachine,
    admin_only,
    with_h100,
    with_mi300x,
)

ROOT = Path(__file__).parents[3]


def said(machine: System, id: str, logdir: str = "/logs") -> Check:
    """The one check of this id."""
    (check,) = [each for each in examine(logdir, machine) if each.id == id]
    return check


def faults(machine: System) -> dict[str, str]:
    return {
        each.id: each.status
        for each in examine("/logs", machine)
        if each.status in ("warning", "problem")
    }


def test_a_machine_where_all_is_well_has_no_fault() -> None:
    assert faults(with_h100()) == {}
    assert faults(with_mi300x()) == {}
    assert faults(FakeMachine(packages={"jax": "0.10.2", "grpcio": "1.60"})) == {}


def test_a_machine_without_a_gpu_lacks_nothing() -> None:
    machine = FakeMachine()
    assert said(machine, "nvidia-driver").status == "absent"
    assert said(machine, "rocm-driver").status == "absent"
    assert [each for each in examine("/logs", machine) if each.id == "cupti"] == []


def test_the_driver_and_its_cuda_are_named() -> None:
    assert said(with_h100(), "nvidia-driver").what == "Driver 550.54.15 supports CUDA up to 12.4."


def test_the_open_drivers_version_is_read_too() -> None:
    machine = with_h100()
    machine.files["/proc/driver/nvidia/version"] = (
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n"
    )
    assert "570.86.15" in said(machine, "nvidia-driver").what


def test_a_container_without_the_gpu_gets_the_flag() -> None:
    machine = with_h100()
    del machine.files["/dev/nvidiactl"]
    machine.files["/.dockerenv"] = ""
    check = said(machine, "nvidia-driver")
    assert check.status == "problem"
    assert "--gpus all" in check.hint


def test_a_driver_that_cannot_be_loaded_is_a_problem() -> None:
    check = said(with_h100(libraries={}), "nvidia-driver")
    assert check.status == "problem"
    assert "libcuda.so.1" in check.what


def test_missing_cupti_names_the_package_for_this_driver() -> None:
    machine = with_h100()
    del machine.files[CUPTI_12]
    check = said(machine, "cupti")
    assert check.status == "problem"
    assert "pip install nvidia-cuda-cupti-cu12" in check.hint


def test_cupti_that_does_not_load_says_why() -> None:
    machine = with_h100()
    machine.libraries[CUPTI_12] = "libstdc++.so.6: version GLIBCXX_3.4.30 not found"
    check = said(machine, "cupti")
    assert check.status == "problem"
    assert "GLIBCXX_3.4.30" in check.what


def test_cupti_newer_than_the_driver_is_a_problem() -> None:
    machine = with_h100()
    machine.libraries["libcuda.so.1"] = FakeLibrary({"cuDriverGetVersion": 11080})
    check = said(machine, "cupti")
    assert check.status == "problem"
    assert "CUPTI belongs to CUDA 12; the driver supports CUDA 11.8 at most" in check.what


def test_cupti_is_found_in_the_toolkit_and_by_the_library_path() -> None:
    toolkit = "/usr/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.2024.1.1"
    own = "/opt/own/libcupti.so.12"
    machine = with_h100(packages={"grpcio": "1.60"}, requirements={})
    del machine.files[CUPTI_12]
    machine.environment = {"LD_LIBRARY_PATH": "/nowhere::/opt/own"}
    machine.files |= {toolkit: "", own: ""}
    machine.libraries[own] = FakeLibrary()
    assert said(machine, "cupti").status == "ok"


def test_another_cupti_than_the_framework_was_built_with_is_told() -> None:
    machine = with_h100()
    machine.packages["nvidia-cuda-cupti-cu12"] = "12.9.79"
    check = said(machine, "cupti-version")
    assert check.status == "warning"
    assert check.hint == 'pip install "nvidia-cuda-cupti-cu12==12.4.127"'


def test_rights_on_a_bare_machine_are_given_by_modprobe() -> None:
    check = said(admin_only(), "gpu-privilege")
    assert check.status == "warning"
    assert "NVreg_RestrictProfilingToAdminUsers=0" in check.hint
    assert "/etc/modprobe.d/" in check.hint


def test_rights_in_docker_are_given_by_a_flag() -> None:
    machine = admin_only()
    machine.files["/.dockerenv"] = ""
    assert "docker run --cap-add=SYS_ADMIN" in said(machine, "gpu-privilege").hint


def test_rights_in_kubernetes_are_given_by_the_pod() -> None:
    machine = admin_only()
    machine.files["/.dockerenv"] = ""
    machine.environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    hint = said(machine, "gpu-privilege").hint
    assert 'capabilities: {add: ["SYS_ADMIN"]}' in hint


def test_rights_in_wsl_are_given_on_windows() -> None:
    machine = with_h100()
    del machine.files["/proc/driver/nvidia/params"]
    del machine.files["/dev/nvidiactl"]
    machine.files |= {"/dev/dxg": "", "/proc/version": "Linux 5.15-microsoft-standard-WSL2"}
    assert "NVIDIA Control Panel" in said(machine, "gpu-privilege").hint


def test_root_has_the_right() -> None:
    machine = admin_only()
    machine.files["/proc/self/status"] = ALL_RIGHTS
    assert said(machine, "gpu-privilege").status == "ok"


@pytest.mark.parametrize(("driver", "status"), [("550.54.15", "warning"), ("565.57.01", "ok")])
def test_the_right_to_monitor_is_enough_from_driver_565_on(driver: str, status: str) -> None:
    machine = admin_only()
    machine.files["/proc/self/status"] = f"CapEff:\t{1 << 38:016x}\n"
    machine.files["/proc/driver/nvidia/version"] = f"Kernel Module  {driver}  Release"
    assert said(machine, "gpu-privilege").status == status


def test_an_amd_gpu_that_may_not_be_opened_names_the_groups() -> None:
    machine = with_mi300x(closed=("/dev/kfd", "/dev/dri/renderD128"))
    check = said(machine, "gpu-privilege")
    assert check.status == "problem"
    assert "usermod -a -G render,video" in check.hint


def test_an_amd_container_gets_the_devices() -> None:
    machine = with_mi300x()
    del machine.files["/dev/kfd"]
    machine.files["/.dockerenv"] = ""
    assert "--device=/dev/kfd" in said(machine, "rocm-driver").hint


def test_a_missing_rocm_tracer_is_a_problem() -> None:
    check = said(with_mi300x(libraries={}), "rocm-tracer")
    assert check.status == "problem"
    assert "6.3.1-48" in check.what


def test_tensorflow_that_drops_options_is_told() -> None:
    assert (
        "2.21.0 ignores every field"
        in said(FakeMachine(packages={"tensorflow": "2.21.0"}), "tensorflow-options").what
    )
    assert faults(FakeMachine(packages={"tensorflow": "2.19.1", "grpcio": "1"})) == {}


@pytest.mark.parametrize(
    ("package", "version"), [("tensorflow-cpu", "2.19.0"), ("torch", "2.6.0+cpu"), ("jax", "0.6")]
)
def test_a_build_that_cannot_see_the_gpu_is_told(package: str, version: str) -> None:
    machine = with_h100(requirements={})
    machine.packages = {package: version, "grpcio": "1.60", "nvidia-cuda-cupti-cu12": "12.4.127"}
    assert "This machine has a GPU" in said(machine, "cpu-build").what


def test_missing_grpcio_costs_recording_from_outside_only() -> None:
    check = said(FakeMachine(), "grpcio")
    assert check.status == "absent"
    assert "stepscope[capture]" in check.hint


@pytest.mark.parametrize(
    ("name", "status"), [("nsys", "problem"), ("ncu", "problem"), ("nv-hostengine", "warning")]
)
def test_a_profiler_that_runs_is_named(name: str, status: str) -> None:
    check = said(FakeMachine(running={1: "systemd", 4321: name}), "other-profiler")
    assert check.status == status
    assert "4321" in check.what


def test_a_profiler_that_would_be_injected_is_named() -> None:
    machine = FakeMachine(environment={"CUDA_INJECTION64_PATH": "/opt/nsys/lib.so"})
    assert said(machine, "other-profiler").hint == "unset CUDA_INJECTION64_PATH"


@pytest.mark.parametrize(
    ("free", "status"), [(GIB // 2, "problem"), (2 * GIB, "warning"), (50 * GIB, "ok")]
)
def test_room_is_looked_at_where_the_folder_will_be(free: int, status: str) -> None:
    machine = FakeMachine(files={"/logs/x": ""}, free={"/logs": free})
    assert said(machine, "log-directory", "/logs/new/run").status == status


def test_a_folder_that_may_not_be_written_is_a_problem() -> None:
    machine = FakeMachine(files={"/logs/x": ""}, closed=("/logs",))
    assert said(machine, "log-directory").status == "problem"


def test_a_bucket_needs_its_driver() -> None:
    check = said(FakeMachine(packages={"fsspec": "2025.1"}), "log-directory", "gs://bucket/logs")
    assert (check.status, check.hint) == ("problem", "pip install gcsfs")
    whole = FakeMachine(packages={"fsspec": "2025.1", "s3fs": "2025.1"})
    assert said(whole, "log-directory", "s3://bucket").status == "ok"


def test_dockers_small_shared_memory_is_told_to_torch() -> None:
    machine = FakeMachine(packages={"torch": "2.6"}, free={"/dev/shm": 64 << 20})
    assert "--shm-size" in said(machine, "shared-memory").hint
    without = FakeMachine(free={"/dev/shm": 64 << 20})
    assert [each for each in examine("/logs", without) if each.id == "shared-memory"] == []


@pytest.mark.parametrize(
    ("state", "status"),
    [((True, 0.0001), "ok"), ((False, 0.0), "warning"), ((True, 0.3), "warning"), (None, "absent")],
)
def test_the_clock(state: tuple[bool, float] | None, status: str) -> None:
    assert said(FakeMachine(clock=state), "clock").status == status


def test_a_slow_clock_source_is_told() -> None:
    path = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    assert said(FakeMachine(files={path: "hpet\n"}), "clock-source").status == "warning"
    assert said(FakeMachine(files={path: "tsc\n"}), "clock-source").status == "ok"


def test_a_check_that_breaks_does_not_silence_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(system: System, logdir: str) -> Iterator[Check]:
        raise ZeroDivisionError("never seen such a machine")

    monkeypatch.setattr(doctor, "PROBES", (broken, *doctor.PROBES))
    found = examine("/logs", FakeMachine())
    assert "never seen such a machine" in found[0].what
    assert len(found) > 3


def test_every_fault_has_a_consequence_and_a_hint() -> None:
    machines = [
        admin_only(),
        with_h100(libraries={}),
        with_mi300x(libraries={}, closed=("/dev/kfd",)),
        FakeMachine(clock=(False, 0), running={7: "nsys"}, free={"/": 1}),
    ]
    found = [
        each
        for machine in machines
        for each in examine("/logs", machine)
        if each.status in ("warning", "problem")
    ]
    assert len(found) >= 7
    assert [each for each in found if not each.why or not each.hint] == []


def test_this_machine_can_be_examined_without_importing_a_framework() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from stepscope.doctor import examine; found = examine('.');"
        "assert len(found) > 4; bad = {'tensorflow','jax','torch','grpc'} & set(sys.modules);"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert isinstance(Machine().clock_state(), tuple | None)


def test_every_check_has_its_heading_in_the_documents() -> None:
    sources = Path(doctor.__file__).parent.glob("*.py")
    ids = {
        found
        for path in sources
        for found in re.findall(r'Check\(\s*"([a-z-]+)"', path.read_text("utf-8"))
    } | {"log-directory", "temporary-folder"}
    assert len(ids) > 10
    page = (ROOT / "docs" / "doctor.md").read_text("utf-8")
    assert ids - set(re.findall(r"^### ([a-z-]+)$", page, re.MULTILINE)) == set()
