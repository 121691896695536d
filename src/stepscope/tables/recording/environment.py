"""What ran: framework, versions, when and for how long, training or inference."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, timezone
from typing import Final

import numpy as np

from stepscope.columns import distinct, pivot
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.schema.numbers import as_integer
from stepscope.tables.core.devices import devices
from stepscope.tables.core.op_name import OpCategory
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.presence import entries_shaped, name_shapes
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.device.events import device_events
from stepscope.tables.hlo.modules import hlo_modules
from stepscope.tables.host.events import timed_events
from stepscope.tables.host.ops import host_ops

_TRAINING = re.compile(
    r"(^|/)(gradient_tape|gradients\w*)(/|$)|transpose\(|(^|/)autograd/|(^|/)(Adam|SGD|RMSprop)(/|$)"
)
# A name that matches contains one of these words.
_TRAINING_WORDS = (b"gradient", b"transpose(", b"autograd/", b"Adam", b"SGD", b"RMSprop")
# What computes gradients, as calls of it are recorded: of ops that run one by one no name tells.
_GRADIENT_CALL = re.compile(
    r"\bGradientTape\b|(?:^|[ .])(?:value_and_grad|grad|apply_gradients|backward)(?:_f(?:un)?)?$"
)
# A function that JAX compiled; of so many each is hardly more than an op.
_FUNCTION: Final = re.compile(r"p?jit\([^()]*\)(?=/)")
_MANY_FUNCTIONS: Final = 8
_VERSION_KEYS = re.compile(r"version", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HostEnvironment:
    """Facts of the run on one host.

    Attributes:
        framework: "TensorFlow", "JAX", "PyTorch", "XLA" or "Unknown".
        versions: Versions the recorder noted, by name.
        settings: Settings of the frameworks it noted, which are not at their defaults.
        start_unix_ns: When recording began (0: not recorded).
        duration_ps: Length of the recording: as noted by the recorder, else first event to last.
        is_training: True, False, or None when the ops do not say.
    """

    framework: str
    versions: dict[str, str]
    settings: dict[str, str]
    start_unix_ns: int
    duration_ps: int
    is_training: bool | None


@derived
def environment(host: Host) -> HostEnvironment:
    """The environment of a host."""
    space = host.space
    stats = [
        (key, value)
        for row in range(len(space.planes))
        for key, value in pivot.plane_stats(space, row).items()
        if isinstance(value, str)
    ]
    versions = {key: value for key, value in stats if _VERSION_KEYS.search(key)}
    settings = {
        key.removeprefix(names.SETTING): value
        for key, value in stats
        if key.startswith(names.SETTING)
    }
    begin, end = (at := recorded_at(host)).begin_unix_ns, at.end_unix_ns
    noted = (end - begin) * 1000 if end > begin > 0 else 0
    duration = noted or _span_ps(host)
    return HostEnvironment(
        _framework(host), versions, settings, begin, duration, _is_training(host)
    )


@derived
def source_files(host: Host) -> dict[str, tuple[int, str]]:
    """``{name: (size, hash)}`` of the program's source files, as its recorder found them."""
    found = {}
    for row in range(len(host.space.planes)):
        told = pivot.plane_stats(host.space, row).get(names.SOURCE_HASHES)
        for line in told.splitlines() if isinstance(told, str) else ():
            size, _, rest = line.partition(" ")
            digest, _, name = rest.partition(" ")
            if size.isdecimal() and name:
                found[name] = int(size), digest
    return found


@dataclass(frozen=True, slots=True)
class SessionEnvironment:
    """Facts of the run over all hosts.

    Attributes:
        framework: Of the first host that tells it, else "Unknown".
        device_type: Types of the devices that ran anything; "CPU" where none did.
        devices: Their names, with that of the host where there are several.
        duration_ps: Of the longest recording.
        start_utc: When the first began; "" where none notes it.
        task_type: "Training", "Inference" or "Unknown".
        versions: Versions by name.
        settings: Settings of the frameworks that are not at their defaults, by name.
    """

    framework: str
    device_type: str
    devices: tuple[str, ...]
    duration_ps: int
    start_utc: str
    task_type: str
    versions: dict[str, str]
    settings: dict[str, str]


@derived
def session_environment(profile: Profile) -> SessionEnvironment:
    """What ran where, over all hosts."""
    found = [environment(host) for host in profile.hosts]
    active = [(host, one) for host in profile.hosts for one in devices(host) if one.has_events]
    many = len(profile.hosts) > 1
    training = [one.is_training for one in found]
    started = min((one.start_unix_ns for one in found if one.start_unix_ns), default=0)
    return SessionEnvironment(
        framework=next((one.framework for one in found if one.framework != "Unknown"), "Unknown"),
        device_type=", ".join(dict.fromkeys(one.type for _host, one in active)) or "CPU",
        devices=tuple(f"{host.name} {one.name}" if many else one.name for host, one in active),
        duration_ps=max((one.duration_ps for one in found), default=0),
        start_utc=_utc(started),
        task_type="Training" if any(training) else "Inference" if False in training else "Unknown",
        versions={key: value for one in found for key, value in one.versions.items()},
        settings={key: value for one in found for key, value in one.settings.items()},
    )


# TensorFlow's pools of threads have one for each core: "tf_Compute/1494558397".
_POOL: Final = re.compile(r"(tf_Compute|tf_numa_-?\d+_Eigen)/")


def host_cores(host: Host) -> int:
    """Physical cores; 0 where the recording does not say."""
    rows = [row for row, kind in enumerate(planes(host).plane_kind) if kind is PlaneKind.HOST]
    noted = [as_integer(pivot.plane_stats(host.space, row).get("core_count")) for row in rows]
    return max([0, *noted])


def cores_seen(host: Host) -> int:
    """The same, else how many threads of a pool ran anything: the host has as many, or more."""
    pools = Counter(
        told[1]
        for line in host.space.lines
        if line.end > line.begin and (told := _POOL.match(line.name)) is not None
    )
    return host_cores(host) or max(pools.values(), default=0)


def _utc(unix_ns: int) -> str:
    if not unix_ns:
        return ""
    return datetime.fromtimestamp(unix_ns / 1e9, tz=timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


@dataclass(frozen=True, slots=True)
class RecordedAt:
    """When a host was recorded, by its wall clock.

    Attributes:
        begin_unix_ns, end_unix_ns: As its recorder noted them (0: not noted).
    """

    begin_unix_ns: int
    end_unix_ns: int


@derived
def recorded_at(host: Host) -> RecordedAt:
    """When recording began and ended on a host."""
    noted = {names.PROFILE_START: 0, names.PROFILE_STOP: 0}
    for row in range(len(host.space.planes)):
        for key, value in pivot.plane_stats(host.space, row).items():
            if key in noted and isinstance(value, int):
                noted[key] = value
    return RecordedAt(noted[names.PROFILE_START], noted[names.PROFILE_STOP])


# Rows taken at a time where a sum of two columns is only looked at: they stay in the cache.
_CHUNK = 1 << 16


def _span_ps(host: Host) -> int:
    events, timed = host.space.events, timed_events(host)
    if not timed.any():
        return 0
    start, duration = events.start_ps, host.space.length_ps
    if not timed.all():
        start, duration = start[timed], duration[timed]
    ends = (start[i : i + _CHUNK] + duration[i : i + _CHUNK] for i in range(0, len(start), _CHUNK))
    return max(int(end.max()) for end in ends) - int(start.min())


# What only one framework's runtime writes on a host, tried in order.
_FRAMEWORK_MARKS = (
    ("PyTorch", re.compile(r"ProfilerStep#|aten(::|/)|autograd(::|/)")),
    ("JAX", re.compile(r"PjitFunction\(|PyClient|jax::|jit_\w{1,200}:XLA GPU module")),
    ("TensorFlow", re.compile(r"TFE_|EagerExecute|ExecutorState::|IteratorGetNext|tf_")),
)
# What its profiler and its kernels are called, where nothing of the host was recorded.
_TORCH_ALONE = re.compile(
    r"PyTorch Profiler|(void )?at::(native|cuda)::|triton_(poi|per|red)_fused"
)

# A path of JAX begins with the transformation that made it. Other compilers for XLA name ops, too.
_TRANSFORMED = re.compile(r"\w+\(")


def _framework(host: Host) -> str:
    kinds = planes(host).plane_kind
    is_host = np.asarray([kind is PlaneKind.HOST for kind in kinds], dtype=bool)
    shapes, of_plane = name_shapes(host), host.space.event_metadata.plane
    seen = [shapes.texts[row] for row in distinct(shapes.of_entry[is_host[of_plane]]).tolist()]
    for framework, mark in _FRAMEWORK_MARKS:
        if any(mark.match(name) for name in seen):
            return framework
    is_torch = any(
        pivot.plane_stats(host.space, row).get(names.WRITTEN_BY) == "PyTorch"
        for row in np.flatnonzero(is_host).tolist()
    )
    if is_torch or any(_TORCH_ALONE.match(name) for name in shapes.texts):
        return "PyTorch"
    ran = device_events(host).ops
    if any(op.category is OpCategory.JAX and _TRANSFORMED.match(op.name) for op in ran):
        return "JAX"
    return "XLA" if len(hlo_modules(host)) else "Unknown"


def _is_training(host: Host) -> bool | None:
    op_names = [op.name for op in host_ops(host).ops] + [op.name for op in device_events(host).ops]
    listed = "\n".join(op_names)
    words = [text for word in _TRAINING_WORDS if (text := word.decode()) in listed]
    for name in op_names if words else ():
        if any(word in name for word in words) and _TRAINING.search(name):
            return True
    for module in hlo_modules(host).mentioning(_TRAINING_WORDS):
        if any(_TRAINING.search(one.op_name) for one in module.instructions.values()):
            return True
    if entries_shaped(host, lambda name: _GRADIENT_CALL.search(name) is not None).any():
        return True
    return False if says_layers(op_names) else None


def says_layers(op_names: list[str]) -> bool:
    """Whether ops have names by which a gradient would be known.

    Those of ops that Python dispatches one by one say no more than their type.
    """
    jitted = [name for name in op_names if name.startswith(("jit(", "pjit("))]
    functions = {told[0] for name in jitted if (told := _FUNCTION.match(name))}
    return any("/" in name for name in op_names) and len(functions) < _MANY_FUNCTIONS
