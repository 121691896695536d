"""Facts of the machine and of the software that a recording carries."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from stepscope.capture.runtime.instances import instances
from stepscope.kernels.cores import cores
from stepscope.schema import names

_STATM: Final = Path("/proc/self/statm")
_STAT: Final = Path("/proc/self/stat")
_CPUINFO: Final = Path("/proc/cpuinfo")
_MAX_FREQUENCY: Final = Path("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
# Widest first: the first that a processor has is what its peak is counted in.
_INSTRUCTION_SETS: Final = (
    ("avx512", "avx512f"),
    ("avx2", "avx2"),
    ("avx", "avx"),
    ("sse4_2", "sse4_2"),
    ("neon", "asimd"),
)
_VERSIONED: Final = ("tensorflow", "keras", "jax", "jaxlib", "torch", "numpy", "stepscope")
# What a driver puts there when a GPU can be used: NVIDIA, AMD, and either in WSL.
_GPU_DEVICES: Final = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
_Modules = Mapping[str, ModuleType]
# Switches of JAX's that check or repeat each computation.
_OF_JAX: Final = (
    "jax_enable_x64",
    "jax_debug_nans",
    "jax_debug_infs",
    "jax_disable_jit",
    "jax_log_compiles",
    "jax_check_tracer_leaks",
)


def processor_facts(cpuinfo: str | None = None) -> dict[str, int | str]:
    """Instruction set, cores and clock (kHz) of this host; unknown facts are left out.

    Cores are physical ones: hyper-threads share the units that a peak is made of.

    Args:
        cpuinfo: Text of ``/proc/cpuinfo``; this machine's by default.
    """
    text = _read(_CPUINFO) if cpuinfo is None else cpuinfo
    facts: dict[str, int | str] = {}
    flags = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    has = set(flags[1].split()) if flags else set()
    isa = next((name for name, flag in _INSTRUCTION_SETS if flag in has), "")
    if isa:
        facts["cpu_isa"] = isa
    cores = _cores(text) or (os.cpu_count() if cpuinfo is None else None)
    if cores:
        facts["core_count"] = cores
    clock_khz = _clock_khz(text)
    if clock_khz:
        facts["clock_rate"] = clock_khz
    return facts


def software_facts(modules: Mapping[str, ModuleType] | None = None) -> dict[str, int | str]:
    """Versions of Python and of the frameworks that are loaded."""
    loaded = sys.modules if modules is None else modules
    facts: dict[str, int | str] = {"python_version": platform.python_version()}
    for name in _VERSIONED:
        version = getattr(loaded.get(name), "__version__", None)
        if isinstance(version, str):
            facts[f"{name}_version"] = version
    return facts


def has_gpu() -> bool:
    """Whether a driver offers a GPU to this machine."""
    return any(Path(device).exists() for device in _GPU_DEVICES)


def _cores(text: str) -> int:
    pairs = set()
    for block in text.split("\n\n"):
        found = dict(re.findall(r"^(physical id|core id)\s*:\s*(\d+)$", block, re.MULTILINE))
        if len(found) == 2:
            pairs.add((found["physical id"], found["core id"]))
    return len(pairs) or len(re.findall(r"^processor\s*:", text, re.MULTILINE))


def _clock_khz(text: str) -> int:
    highest = _read(_MAX_FREQUENCY).strip()
    if highest.isdecimal():
        return int(highest)
    clocks = re.findall(r"^cpu MHz\s*:\s*([\d.]+)$", text, re.MULTILINE)
    return round(max(map(float, clocks)) * 1000) if clocks else 0


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def resident_bytes() -> int | None:
    """Memory of this process that is in RAM; None if the system does not report it."""
    try:
        return int(_STATM.read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError, IndexError):
        return None


class _MallInfo(ctypes.Structure):
    """glibc's ``struct mallinfo2``, in bytes; ``fordblks`` is the heap's free part."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


def process_age_ns() -> int | None:
    """How long this process has existed, to 10 ms; None if the system does not report it."""
    try:
        # The name of the program, in parentheses, may hold blanks.
        fields = _STAT.read_text("utf-8", "replace").rpartition(")")[2].split()
        begun_ns = int(fields[19]) * 10**9 // os.sysconf("SC_CLK_TCK")
        return max(time.clock_gettime_ns(time.CLOCK_BOOTTIME) - begun_ns, 0)
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def delayed_seconds() -> float | None:
    """How long the thread that waited most was ready to run and had no core; None if unknown."""
    longest_ns = None
    for path in Path("/proc/self/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, ValueError, IndexError):  # a thread may end meanwhile
            longest_ns = max(longest_ns or 0, int(path.read_text("ascii").split()[1]))
    return None if longest_ns is None else longest_ns / 1e9


def _allocator() -> _MallInfo | None:
    if sys.platform != "linux":
        return None
    try:
        asked = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return None
    asked.restype = _MallInfo
    info: _MallInfo = asked()
    return info


def free_bytes() -> int | None:
    """How much of the heap is free; None where the allocator does not say (glibc ≥ 2.33 does)."""
    info = _allocator()
    return None if info is None else int(info.fordblks)


def used_bytes() -> int:
    """Memory that the process has allocated, or that is in RAM where the allocator does not say.

    Growth into memory that was freed before does not show in what is in RAM.
    """
    info = _allocator()
    return (resident_bytes() or 0) if info is None else int(info.uordblks + info.hblkhd)


def release_free_memory() -> None:
    """Give free memory of the heap back to the system, where the allocator can (glibc)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


# Keras's policy for data types is of a thread, and recordings end on others than the program's.
_loop_settings: dict[str, int | str] = {}


def remember_settings() -> None:
    """Note the settings of the calling thread, which runs the loop of Keras."""
    own: dict[str, ModuleType] = {}
    for name in ("tensorflow", "keras"):
        if name in sys.modules:
            own[name] = sys.modules[name]
    _loop_settings.update(_current_settings(own))


def settings_facts(modules: _Modules | None = None) -> dict[str, int | str]:
    """Settings of frameworks that differ from the default: name → "on" or a data type.

    They make every step slower, and a recording shows what a debugging switch does, seldom that
    it was on. Only modules that are loaded are asked, and none is imported.
    """
    if modules is None:
        return _loop_settings | _current_settings(sys.modules)
    return _current_settings(modules)


def _current_settings(loaded: _Modules) -> dict[str, int | str]:
    facts: dict[str, int | str] = {}
    for asked in (_torch_settings, _tensorflow_settings, _jax_settings):
        # A framework that is half imported, or of a version without the switch, says nothing.
        with contextlib.suppress(Exception):
            for name, value in asked(loaded):
                facts[names.SETTING + name] = value
    return facts


def _torch_settings(loaded: _Modules) -> Iterator[tuple[str, str]]:
    torch: Any = loaded.get("torch")
    if torch is None:
        return
    if torch.is_anomaly_enabled():
        yield "torch_anomaly_mode", "on"
    if torch.are_deterministic_algorithms_enabled():
        yield "torch_deterministic_algorithms", "on"
    kind = _parameter_type(torch.nn.Parameter)
    if kind and kind != "float32":
        yield names.PARAMETERS, kind
    own, threads = _own_cores(), torch.get_num_threads()
    # PyTorch begins with a thread for each physical core, which affinity does not count.
    if 2 * threads < own or threads == 1 < own:
        yield names.TORCH_THREADS, f"{threads} of {own}"
    products = torch.ops.mkldnn
    fast = {
        "bfloat16": products._is_mkldnn_bf16_supported(),
        "float16": products._is_mkldnn_fp16_supported(),
    }
    if slow := [kind for kind, is_fast in fast.items() if not is_fast]:
        yield names.TORCH_EMULATES, ", ".join(slow)


def _own_cores() -> int:
    """Cores of this process: several of a launcher share those of a machine."""
    here = min(cores(), _cores(_read(_CPUINFO)) or cores())
    return here // max(int(os.environ.get("LOCAL_WORLD_SIZE") or 1), 1)


def _parameter_type(parameter: type) -> str:
    """The data type that most of the model's numbers have; "" without parameters."""
    count: Counter[str] = Counter()
    for one in instances(parameter):
        count[str(one.dtype).removeprefix("torch.")] += one.numel()
    return count.most_common(1)[0][0] if count else ""


def _tensorflow_settings(loaded: _Modules) -> Iterator[tuple[str, str]]:
    tensorflow: Any = loaded.get("tensorflow")
    config = getattr(tensorflow, "config", None)
    if config is not None and config.functions_run_eagerly():
        yield "tf_run_functions_eagerly", "on"
    keras: Any = loaded.get("keras")
    floatx: Callable[[], str] | None = getattr(getattr(keras, "config", None), "floatx", None)
    floatx = floatx or getattr(getattr(keras, "backend", None), "floatx", None)
    if floatx is not None and floatx() != "float32":
        yield names.PARAMETERS, floatx()
    policy = getattr(getattr(keras, "config", None), "dtype_policy", None)
    if policy is not None and policy().name != "float32":
        yield names.KERAS_POLICY, policy().name


def _jax_settings(loaded: _Modules) -> Iterator[tuple[str, str]]:
    config: Any = getattr(loaded.get("jax"), "config", None)
    for name in _OF_JAX if config is not None else ():
        if getattr(config, name, False):
            yield name, "on"


def runs_elsewhere(process: int) -> bool:
    """Whether this id is another running process; on Windows, where asking would end it, never."""
    if os.name == "nt":
        return False  # signal 0 does not ask there, it sends Ctrl-C
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return process != os.getpid()
