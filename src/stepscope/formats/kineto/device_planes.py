"""The GPUs' planes: kernels and copies by stream, and what annotations cover of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from stepscope.formats.kineto.names import copy_name, op_name
from stepscope.formats.kineto.read import Trace
from stepscope.formats.kineto.slices import Slices, by_place, match, stat_of, whole
from stepscope.formats.xspace.event_bytes import I64
from stepscope.formats.xspace.plane_writer import PlaneWriter
from stepscope.schema import names

_KINDS: Final = ("kernel", "copy", "scope")
_PROPERTIES: Final = (
    ("compute_cap_major", "computeMajor"),
    ("compute_cap_minor", "computeMinor"),
    ("core_count", "numSms"),
    ("memory_size", "totalGlobalMem"),
)


def device_planes(
    trace: Trace, slices: Slices, clock_rate_khz: Mapping[int, int]
) -> Iterator[PlaneWriter]:
    """A plane per GPU.

    Args:
        trace: The recording.
        slices: Its slices.
        clock_rate_khz: Highest clock of each GPU, where the caller knows it.
    """
    rows = slices.rows(*_KINDS)
    device = np.asarray([whole(pid) for pid, _ in slices.places] or [0])[slices.place]
    for number in np.unique(device[rows]).tolist():
        plane = PlaneWriter(f"{names.GPU_PLANE}{number}", id=number + 1)
        for key, value in _capabilities(trace.head, number):
            plane.stat(key, value)
        if number in clock_rate_khz:
            plane.stat("clock_rate", clock_rate_khz[number])
        _streams(plane, slices, rows[device[rows] == number])
        yield plane


def _capabilities(head: Mapping[str, Any], device: int) -> Iterator[tuple[str, int | str]]:
    """A GPU's properties in the words that TensorFlow's planes have for them."""
    listed = head.get("deviceProperties")
    found = [
        one
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, dict) and whole(one.get("id")) == device
    ]
    properties: dict[str, Any] = found[0] if found else {}
    model = str(properties.get("name", ""))
    is_amd = "AMD" in model or "hip_driver_version" in head or "roctracer_version" in head
    yield "device_vendor", "AMD" if is_amd else "Nvidia"
    if model:
        yield "gpu_device_name", model
    for ours, theirs in _PROPERTIES:
        value = properties.get(theirs)
        if isinstance(value, int):
            yield ours, value


def _streams(plane: PlaneWriter, slices: Slices, rows: I64) -> None:
    """A line per stream; annotations get a line of their own, they are no work of the device."""
    metadata = np.zeros(len(slices), np.int64)
    is_scope, is_copy = slices.is_kind("scope"), slices.is_kind("copy")
    slices.renamed(plane, rows[is_copy[rows]], copy_name, metadata)
    slices.renamed(plane, rows[~is_copy[rows]], str, metadata)
    details = slices.text_ids(plane, _launch_texts(slices))
    ops = _op_texts(slices, plane, rows)
    for place, mine in by_place(slices.place, rows):
        stream = whole(slices.places[place][1])
        work, scopes = mine[~is_scope[mine]], mine[is_scope[mine]]
        if len(work):
            launched, said = slices.correlation[work], details[work]
            copies = is_copy[work]
            stats = stat_of(names.CORRELATION_ID, launched.astype(np.uint64), launched > 0)
            stats += stat_of(names.KERNEL_DETAILS, said, (said > 0) & ~copies, is_text=True)
            stats += stat_of(names.MEMCPY_DETAILS, said, (said > 0) & copies, is_text=True)
            stats += stat_of(names.TF_OP, ops[work], ops[work] > 0, is_text=True)
            plane.line(
                stream,
                f"Stream #{stream}(Compute)",
                metadata=metadata[work],
                start_ns=slices.start_ns[work],
                duration_ns=slices.duration_ns[work],
                stats=stats,
            )
        if len(scopes):
            plane.line(
                names.DERIVED_LINE_ID + stream % names.DERIVED_LINE_COUNT,
                f"{names.NAME_SCOPE_LINES[0]} #{stream}",
                metadata=metadata[scopes],
                start_ns=slices.start_ns[scopes],
                duration_ns=slices.duration_ns[scopes],
            )


def _launch_texts(slices: Slices) -> I64:
    """Per slice the text of its launch; ROCm's kernels have it from the call alone."""
    text = slices.text.copy()
    has_id = slices.correlation > 0
    calls = np.flatnonzero(slices.is_kind("runtime") & (text >= 0) & has_id)
    poor = np.flatnonzero(slices.is_kind("kernel") & (text < 0) & has_id)
    at, same = match(slices.correlation[calls], slices.correlation[poor])
    text[poor[same]] = text[calls[at[same]]]
    return text


def _op_texts(slices: Slices, plane: PlaneWriter, rows: I64) -> I64:
    """Per device slice the op that launched it, by the id that both carry (0: none)."""
    found = np.zeros(len(slices), np.int64)
    ops = np.flatnonzero(slices.is_kind("op") & (slices.external >= 0))
    work = rows[slices.external[rows] >= 0]
    at, same = match(slices.external[ops], slices.external[work])
    work, name = work[same], slices.name[ops[at[same]]]
    used, inverse = np.unique(name, return_inverse=True)
    if len(used):
        texts = plane.texts(op_name(slices.names[code]) for code in used.tolist())
        found[work] = texts[inverse]
    return found
