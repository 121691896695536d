"""Planes and lines of every recorder, with old and new names."""

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.planes import LineKind, PlaneKind, lines_of, plane_kind, planes
from stepscope.tables.core.profile import Host
from tests.profiles.model import gpu, host, line, plane, space, stream, u


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("/host:CPU", PlaneKind.HOST),
        ("/host:CPU [4711]", PlaneKind.HOST),
        ("/host:CUPTI", PlaneKind.HOST),
        ("/host:metadata", PlaneKind.METADATA),
        ("/host:__ScopeRangeCallStack__", PlaneKind.OTHER),
        ("/device:GPU:3", PlaneKind.GPU),
        ("/device:TPU:0", PlaneKind.TPU),
        ("/device:TPU:0 SparseCore 1", PlaneKind.SPARSE_CORE),
        ("/device:CUSTOM:x", PlaneKind.CUSTOM),
        ("Task Environment", PlaneKind.ENVIRONMENT),
        ("#Chip0", PlaneKind.OTHER),
    ],
)
def test_plane_kinds(name: str, kind: PlaneKind) -> None:
    assert plane_kind(name) is kind


def test_derived_gpu_lines_are_told_from_streams() -> None:
    data = space(
        gpu(
            0,
            stream(7, ("k", 0, 1)),
            line("TensorFlow Ops", ("op", 0, 1), id=-559038734),
            line("Framework Ops", ("op", 0, 1), id=3735928562),
            line("Framework Name Scope - from #7", ("scope", 0, 1), id=3735929000),
            line("Steps", ("0", 0, 1), id=3735928559),
        )
    )
    opened = Host("h", decode(data))
    assert planes(opened).line_kind == (
        LineKind.STREAM,
        LineKind.DERIVED,
        LineKind.DERIVED,
        LineKind.DERIVED,
        LineKind.STEPS,
    )
    assert lines_of(opened, LineKind.STREAM, PlaneKind.GPU) == [0]


def test_lines_of_hardware_counters_are_no_streams() -> None:
    """A range of CUPTI's range profiler is a line of the GPU's plane, named after its kernel."""
    counted = {"counter_value": u(8)}
    data = space(
        host(line("python", ("cycles", 0, 1, counted))),
        gpu(0, line("sgemm", ("cycles", 0, 9, counted)), line("empty"), stream(7, ("k", 0, 1))),
    )
    kinds = planes(Host("h", decode(data))).line_kind
    assert kinds == (LineKind.THREAD, LineKind.OTHER, LineKind.STREAM, LineKind.STREAM)


def test_native_tpu_lines() -> None:
    names = ("XLA Modules", "XLA Ops", "Async XLA Ops", "Steps", "Framework Ops", "Overlay")
    data = space(plane("/device:TPU:0", *[line(name, ("e", 0, 1)) for name in names]))
    assert planes(Host("h", decode(data))).line_kind == (
        LineKind.MODULES,
        LineKind.OPS,
        LineKind.ASYNC_OPS,
        LineKind.STEPS,
        LineKind.DERIVED,
        LineKind.OTHER,
    )


def test_negative_thread_ids_are_threads() -> None:
    data = space(host(line("tf_Compute/-17", ("e", 0, 1), id=-1199304165554605900)))
    assert planes(Host("h", decode(data))).line_kind == (LineKind.THREAD,)
