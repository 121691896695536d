"""Telemetry: rates by hand from files of /proc, GPUs from fakes, absence that is not zero."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from stepscope.capture import telemetry
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorders.telemetry import Telemetry
from stepscope.capture.telemetry import Metric, MetricSource, Rates, amd, nvidia, rapl, torch_memory
from stepscope.capture.telemetry.proc import ProcSource
from stepscope.formats.xspace import decode
from stepscope.tables.core.devices import devices
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.memory.samples import memory_samples
from stepscope.timeline import timeline

SECOND = 1_000_000_000


def proc(root: Path, *, idle: int, received: int, cpu: int, name: str = "python") -> Path:
    """A /proc with one core: 100 ticks of user time and this many idle."""
    (root / "net").mkdir(parents=True, exist_ok=True)
    (root / "self/task/7").mkdir(parents=True, exist_ok=True)
    ticks = f"100 0 0 {idle} 0 0 0 0 0 0"
    (root / "stat").write_text(f"cpu  {ticks}\ncpu0 {ticks}\nintr 1 2 3\n")
    (root / "meminfo").write_text("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\n")
    (root / "net/dev").write_text(
        "Inter-|   Receive\n face |bytes\n    lo: 999 0 0 0 0 0 0 0 999 0\n"
        f"  eth0: {received} 0 0 0 0 0 0 0 50 0\n"
    )
    stat = f"7 ({name}) S 1 1 1 0 -1 0 0 0 0 0 {cpu} 0 0 0 20 0 3 0 5 1000 25 0"
    (root / "self/stat").write_text(stat)
    return root


def readings(source: MetricSource, now_ns: int) -> dict[str, float]:
    return {counter.name: value for counter, value in source.read(now_ns)}


def test_rates_are_over_the_time_between_two_readings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In two seconds: 100 ticks more, 75 of them idle; 4000 bytes; 50 ticks of the process."""
    monkeypatch.setattr("os.sysconf", lambda key: {"SC_CLK_TCK": 100, "SC_PAGE_SIZE": 4096}[key])
    source = ProcSource(proc(tmp_path, idle=0, received=0, cpu=0))
    first = readings(source, 0)
    assert first == {"System memory used": 600 * 1024, "Process memory (RSS)": 25 * 4096}
    proc(tmp_path, idle=75, received=4000, cpu=50)
    (tmp_path / "stat").write_text("cpu  125 0 0 75 0 0 0 0 0 0\ncpu0 125 0 0 75 0 0 0 0 0 0\n")
    second = readings(source, 2 * SECOND)
    assert second["CPU busy"] == second["CPU 0 busy"] == pytest.approx(25)
    assert second["Network receive"] == 2000
    assert second["Network send"] == 0
    assert second["Process CPU"] == pytest.approx(25)
    source.close()


def test_what_a_system_does_not_tell_has_no_value(tmp_path: Path) -> None:
    source = ProcSource(proc(tmp_path, idle=0, received=0, cpu=0))
    readings(source, 0)
    found = readings(source, SECOND)
    assert not {"Disk read", "Process disk read", "Child processes CPU"} & set(found)
    assert "CPU busy" not in found  # no tick went by: nothing is known, not 0


def test_a_program_may_have_any_name(tmp_path: Path) -> None:
    source = ProcSource(proc(tmp_path, idle=0, received=0, cpu=0, name="a) S 1 (b\n)"))
    assert readings(source, 0)["Process memory (RSS)"] > 0


def test_children_are_summed_and_may_end_at_any_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Children are searched for at every tenth reading: 9 is found with 9 s of work behind it."""
    monkeypatch.setattr("os.sysconf", lambda key: {"SC_CLK_TCK": 100, "SC_PAGE_SIZE": 4096}[key])
    root = proc(tmp_path, idle=0, received=0, cpu=0)
    children = root / "self/task/7/children"
    children.write_text("8 10 ")

    def work(pid: str, seconds: int) -> None:
        (root / pid).mkdir(exist_ok=True)
        stat = (root / "self/stat").read_text().split()
        stat[13] = str(100 * seconds)
        (root / pid / "stat").write_text(" ".join(stat))

    source = ProcSource(root)
    found = []
    for second in range(13):
        if second == 1:
            children.write_text("8 9 10 ")
        if second == 12:
            (root / "8/stat").unlink()
        else:
            work("8", second)
        work("9", second)
        found.append(readings(source, second * SECOND))
    cpu = [one.get("Child processes CPU") for one in found]
    assert cpu == [None, *[100] * 10, 200, 100]
    assert [one["Child processes memory (RSS)"] // (25 * 4096) for one in found] == [
        *[1] * 10,
        2,
        2,
        1,
    ]


def test_broken_files_are_left_out(tmp_path: Path) -> None:
    root = proc(tmp_path, idle=0, received=0, cpu=0)
    (root / "meminfo").write_text("MemTotal: what\n")
    (root / "self/stat").write_text("")
    (root / "net/dev").write_text("\0\xff")
    assert readings(ProcSource(root), 0) == {}


def test_a_total_that_went_back_gives_no_rate() -> None:
    rates, counter = Rates(), Metric("x", "bytes/s")
    assert rates.of(counter, 0, 100) == []
    assert rates.of(counter, SECOND, 50) == []
    assert rates.of(counter, SECOND, 60) == []
    assert rates.of(counter, 2 * SECOND, 90) == [(counter, 30)]


def zone(root: Path, folder: str, name: str, energy_uj: int | str, range_uj: int = 10**9) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / "name").write_text(f"{name}\n")
    (root / folder / "energy_uj").write_text(f"{energy_uj}\n")
    (root / folder / "max_energy_range_uj").write_text(f"{range_uj}\n")


def test_energy_counts_on_where_its_counter_begins_again(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 999_000_000)
    zone(tmp_path, "intel-rapl:0:0", "core", 5)
    zone(tmp_path, "intel-rapl:0:1", "dram", 100)
    zone(tmp_path, "intel-rapl:1", "psys", 7)
    source = rapl.open_source(tmp_path)
    assert source is not None
    names = [name for name, _ in source.zones]
    assert names == ["CPU package 0", "Memory of package-0"]
    assert readings(source, 0) == {"CPU package 0 energy": 0, "Memory of package-0 energy": 0}
    zone(tmp_path, "intel-rapl:0", "package-0", 29_000_000)  # 1 J to the end, and 29 J from 0
    found = readings(source, 2 * SECOND)
    assert found["CPU package 0 energy"] == pytest.approx(30)
    assert found["CPU package 0 power"] == pytest.approx(15)
    (tmp_path / "intel-rapl:0/energy_uj").unlink()
    assert "CPU package 0 energy" not in readings(source, 3 * SECOND)


def test_energy_that_may_not_be_read_is_no_source(tmp_path: Path) -> None:
    assert rapl.open_source(tmp_path) is None
    zone(tmp_path, "intel-rapl:0", "package-0", "")
    assert rapl.open_source(tmp_path) is None


def test_devices_of_the_step_log_have_energy_since_the_last_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", 1_000_000)
    monkeypatch.setattr(rapl, "_ROOT", tmp_path)
    nvml = fake_nvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    devices = telemetry.DeviceReadings()
    zone(tmp_path, "intel-rapl:0", "package-0", 4_500_000)
    nvml.nvmlDeviceGetTotalEnergyConsumption = lambda _: 12_000
    found = devices.take()
    assert found["CPU package 0 energy"] == pytest.approx(3.5)
    assert found["GPU 0 energy"] == pytest.approx(7.0)
    assert found["GPU 0 power"] == 250.5 and found["GPU 0 throttled"] == 1
    assert not any("busy" in name or "memory used" in name for name in found)


class NVMLError(Exception):
    pass


def fake_nvml(gpus: int = 1, **missing: bool) -> Any:
    """NVML as the driver of one GPU answers; a name in ``missing`` is not supported."""

    def answer(name: str, value: object) -> Any:
        def call(*_: object) -> object:
            if missing.get(name):
                raise NVMLError(name)
            return value

        return call

    module: Any = ModuleType("pynvml")
    module.NVMLError = NVMLError
    module.NVML_CLOCK_SM, module.NVML_CLOCK_MEM, module.NVML_TEMPERATURE_GPU = 1, 2, 0
    module.nvmlClocksThrottleReasonSwPowerCap = 4
    module.shut = 0
    for name, value in {
        "nvmlInit": None,
        "nvmlShutdown": None,
        "nvmlDeviceGetCount": gpus,
        "nvmlDeviceGetHandleByIndex": object(),
        "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=80, memory=30),
        "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=2**30),
        "nvmlDeviceGetClockInfo": 1410,
        "nvmlDeviceGetPowerUsage": 250_500,
        "nvmlDeviceGetTotalEnergyConsumption": 5000,
        "nvmlDeviceGetTemperature": 61,
        "nvmlDeviceGetCurrentClocksThrottleReasons": 4,
    }.items():
        setattr(module, name, answer(name, value))
    return module


def test_an_nvidia_gpu_tells_in_our_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml())
    source = nvidia.open_source()
    assert source is not None
    assert {(c.name, c.unit): value for c, value in source.read(0)} == {
        ("GPU 0 busy", "%"): 80,
        ("GPU 0 memory controller busy (util)", "%"): 30,
        ("GPU 0 memory used", "bytes"): 2**30,
        ("GPU 0 SM clock", "MHz"): 1410,
        ("GPU 0 memory clock", "MHz"): 1410,
        ("GPU 0 power", "W"): 250.5,
        ("GPU 0 energy", "J"): 5,
        ("GPU 0 temperature", "°C"): 61,
        ("GPU 0 throttled", ""): 1,
    }
    source.close()


def test_what_a_gpu_does_not_support_is_left_out_and_not_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = fake_nvml(nvmlDeviceGetPowerUsage=True)
    monkeypatch.setitem(sys.modules, "pynvml", module)
    source = nvidia.open_source()
    assert source is not None
    assert "GPU 0 power" not in {c.name for c, _ in source.read(0)}
    asked: list[object] = []
    monkeypatch.setattr(module, "nvmlDeviceGetPowerUsage", asked.append)
    assert len(list(source.read(1))) == 8
    assert not asked


def test_no_driver_no_gpu_and_no_package_are_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (fake_nvml(nvmlInit=True), fake_nvml(gpus=0), None):
        monkeypatch.setitem(sys.modules, "pynvml", module)
        assert nvidia.open_source() is None


def test_an_amd_gpu_tells_in_our_units_and_na_is_nothing() -> None:
    smi = SimpleNamespace(
        AmdSmiException=NVMLError,
        AmdSmiClkType=SimpleNamespace(GFX=0),
        amdsmi_get_gpu_activity=lambda _: {"gfx_activity": 55, "umc_activity": "N/A"},
        amdsmi_get_gpu_vram_usage=lambda _: {"vram_used": 3},
        amdsmi_get_power_info=lambda _: {"current_socket_power": "N/A", "average_socket_power": 70},
        amdsmi_get_clock_info=lambda _, __: {"clk": 0xFFFFFFFF},
        amdsmi_get_energy_count=lambda _: {
            "energy_accumulator": 1_000_000,
            "counter_resolution": 15.0,
        },
    )
    found = {c.name: value for c, value in amd.AmdSource(smi, [object()]).read(0)}
    assert found == {
        "GPU 0 busy": 55,
        "GPU 0 memory used": 3 * 2**20,
        "GPU 0 power": 70,
        "GPU 0 energy": pytest.approx(15),
    }


def test_without_rocm_the_package_is_not_even_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Importing amdsmi without its library prints lines and raises."""
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    monkeypatch.setattr(amd, "_is_loadable", lambda _: False)
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    assert amd.open_source() is None


def test_pytorch_is_not_asked_before_the_program_uses_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cuda = SimpleNamespace(
        is_initialized=lambda: False,
        device_count=lambda: 1,
        memory_allocated=lambda _: 5,
        memory_reserved=lambda _: 8,
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    source = torch_memory.open_source()
    assert source is not None
    assert list(source.read(0)) == []
    cuda.is_initialized = lambda: True
    assert [value for _, value in source.read(0)] == [5, 8]


def recorded(hz: float = 50.0, seconds: float = 0.3) -> bytes:
    recorder = Telemetry()
    recorder.start(ProfilerOptions(telemetry_hz=hz))
    time.sleep(seconds)
    return recorder.collect().xspace


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="this system has no /proc")
def test_this_machine_draws_as_counters_and_is_no_device() -> None:
    host = Host("h", decode(recorded()))
    shown = timeline(Profile("p", (host,)))
    counters = {track.name: track.counter for track in shown.tracks}
    resident = counters["Process memory (RSS)"]
    assert resident is not None
    assert resident.unit == "bytes"
    assert (resident.value > 10 << 20).all()
    assert {"CPU busy", "System memory used", "Process CPU"} <= set(counters)
    assert [(one.kind, one.name) for one in shown.sections] == [("other", "Telemetry")]
    assert devices(host) == ()
    assert "Process memory (RSS)" in {one.name for one in memory_samples(host)}


def test_nothing_is_read_at_0_hz_and_drop_forgets() -> None:
    assert recorded(hz=0, seconds=0.01) == b""
    recorder = Telemetry()
    recorder.start(ProfilerOptions(telemetry_hz=100))
    recorder.drop()
    assert recorder.collect().xspace == b""


def test_a_source_that_cannot_open_is_said_and_the_others_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = ("tests.unit.nowhere:open_source", *telemetry.SOURCES)
    monkeypatch.setattr(telemetry, "SOURCES", broken)
    recorder = Telemetry()
    recorder.start(ProfilerOptions(telemetry_hz=100))
    time.sleep(0.2)
    found = recorder.collect()
    assert found.events > 0
    assert [note.slug for note in found.notes] == ["telemetry-source"]
