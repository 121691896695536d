"""Which op each kernel of a command buffer is of."""

from __future__ import annotations

import time
from typing import Any

import pytest

from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.recorded_ops import recorded_ops
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program
from tests.profiles.model import gpu, stream, u
from tests.unit.analysis.compiled import profile

GEMM = "nvjet_sm90_tst_128x128"


def fusion(name: str, size: int = 4, **more: Any) -> Instruction:
    return instruction(name, "fusion", f32(size), "x", **more)


def product(name: str) -> Instruction:
    return instruction(name, "custom-call", f32(4, 4), "x", custom_call_target=b"__cublas$gemm")


X = instruction("x", "parameter", f32(4), parameter_number=0)
# A norm, two products with a sum between, a loop of a product and a scale, and another product.
ENTRY = [
    X,
    fusion("loop_norm_fusion"),
    product("custom-call.1"),
    fusion("loop_add_fusion.3", 8),
    product("custom-call.2"),
    fusion("loop_max_fusion", 16),
    instruction("while.1", "while", f32(4), "x", calls=["body"]),
    fusion("loop_last_fusion", 32),
]
BODY = [
    instruction("p", "parameter", f32(4), parameter_number=0),
    instruction("slice", "async-start", f32(4), "p", op_name="jit(f)/while/body/dynamic_slice"),
    instruction("done", "async-done", f32(4), "slice"),
    instruction("loop_scale_fusion", "fusion", f32(64), "p"),
    instruction("custom-call.3", "custom-call", f32(4), "p", custom_call_target=b"__cublas$gemm"),
    instruction("loop_tanh_fusion", "fusion", f32(128), "p"),
]


def recorded(*kernels: str, entry: list[Instruction] = ENTRY, order: tuple[str, ...] = ()) -> Host:
    """These kernels one after the other; "=" before one that is in no command buffer."""
    events = []
    for at, name in enumerate(kernels):
        is_plain = name.startswith("=")
        op = name[1:].replace("_fusion_", "_fusion.") if is_plain else "command_buffer_7"
        stats = {"hlo_op": op, "hlo_module": "jit_f", "program_id": u(7)}
        events.append((name.lstrip("="), 10.0 * at, 8.0, stats))
    bodies = {"body": BODY}
    (host,) = profile(
        metadata_plane(("jit_f", 7, program("jit_f", entry, bodies=bodies, order=order))),
        gpu(0, stream(14, *events)),
    ).hosts
    return host


def ops(host: Host) -> list[str]:
    found = recorded_ops(host)
    return [found.texts[code] for code in found.codes.tolist()]


def test_kernels_have_the_names_of_their_fusions_and_products_lie_between() -> None:
    host = recorded(
        "loop_norm_fusion", "Memset 0", GEMM, "loop_add_fusion_3", GEMM, "loop_max_fusion"
    )
    assert ops(host) == [
        "loop_norm_fusion",
        "custom-call.1",  # what it fills before
        "custom-call.1",
        "loop_add_fusion.3",
        "custom-call.2",
        "loop_max_fusion",
    ]


def test_a_loop_runs_again_from_its_end_to_its_begin() -> None:
    once = ["memcpy128", "loop_scale_fusion", GEMM, "loop_tanh_fusion"]
    found = ops(recorded("loop_max_fusion", *once, *once, "loop_last_fusion"))
    assert (
        found[1:5]
        == found[5:9]
        == [
            "slice",
            "loop_scale_fusion",
            "custom-call.3",
            "loop_tanh_fusion",
        ]
    )


def test_kernels_outside_of_buffers_tell_where_the_others_lie() -> None:
    assert ops(recorded("=loop_norm_fusion", GEMM, "=loop_add_fusion_3")) == [
        "loop_norm_fusion",
        "custom-call.1",
        "loop_add_fusion.3",
    ]


def test_of_fusions_that_share_a_kernel_the_one_between_its_neighbours_runs() -> None:
    entry = [
        X,
        fusion("a", 2),
        fusion("twin.1", 8, copy_of="twin.1"),
        product("custom-call.1"),
        fusion("b", 16),
        fusion("twin.2", 9, copy_of="twin.1"),
        product("custom-call.2"),
        fusion("c", 32),
    ]
    found = ops(recorded("a", "twin_1", GEMM, "b", "twin_1", GEMM, "c", entry=entry))
    assert found == ["a", "twin.1", "custom-call.1", "b", "twin.2", "custom-call.2", "c"]


def test_layers_that_share_their_kernels_are_counted() -> None:
    """Two kernels stand for three layers each; neighbours alone would give all to the first."""
    entry = [X]
    for at in range(1, 4):
        entry += [
            fusion(f"norm.{at}", 8, copy_of="norm.1"),
            product(f"custom-call.{at}"),
            fusion(f"sum.{at}", 8, copy_of="sum.1"),
        ]
    once = ["norm_3", GEMM, "sum_2"] * 3
    found = ops(recorded(*once, entry=entry))
    assert found == [one.name for one in entry[1:]]


def test_fusions_of_one_shape_that_repeat_others_are_not_alike() -> None:
    entry = [
        X,
        fusion("sum.1", 8, copy_of="sum.1"),
        product("custom-call.1"),
        fusion("sum.2", 8, copy_of="sum.2"),
        product("custom-call.2"),
        fusion("sum.3", 8, copy_of="sum.1"),
    ]
    found = ops(recorded("sum_1", GEMM, "sum_2", GEMM, "sum_1", entry=entry))
    assert found == ["sum.1", "custom-call.1", "sum.2", "custom-call.2", "sum.3"]


def test_the_schedule_says_in_which_order_they_run() -> None:
    entry = [X, product("custom-call.1"), fusion("a", 2), product("custom-call.2"), fusion("b", 16)]
    order = ("x", "custom-call.2", "b", "custom-call.1", "a")
    host = recorded("b", GEMM, "a", GEMM, "b", GEMM, "a", entry=entry, order=order)
    assert ops(host)[1::2] == ["custom-call.1", "custom-call.2", "custom-call.1"]


@pytest.mark.parametrize(
    "kernels",
    [
        (GEMM, "loop_add_fusion_3"),  # nothing before it
        ("loop_norm_fusion", GEMM),  # nothing after it
        ("loop_norm_fusion", GEMM, GEMM, GEMM, "loop_max_fusion"),  # three kernels of two
        ("loop_norm_fusion", "memcpy128", "loop_add_fusion_3"),  # no copy lies there
        ("somebodys_kernel",),
    ],
)
def test_else_a_kernel_keeps_the_name_of_its_buffer(kernels: tuple[str, ...]) -> None:
    host = recorded(*kernels)
    known = ("loop_norm_fusion", "loop_add_fusion_3", "loop_max_fusion")
    rest = [op for name, op in zip(kernels, ops(host), strict=True) if name not in known]
    assert set(rest) == {"command_buffer_7"}


def test_without_the_program_nothing_is_known() -> None:
    stats = {"hlo_op": "command_buffer_7", "program_id": u(9)}
    (host,) = profile(gpu(0, stream(14, ("loop_norm_fusion", 0.0, 8.0, stats)))).hosts
    assert ops(host) == ["command_buffer_7"]


def products(count: int, *others: Instruction) -> list[Instruction]:
    return [X, fusion("a"), *(product(f"custom-call.{at}") for at in range(count)), *others]


def twins(count: int) -> list[Instruction]:
    return [X, *(fusion(f"twin.{at}", 8) for at in range(count)), fusion("a")]


@pytest.mark.parametrize(
    ("kernels", "entry"),
    [
        (("a", *[GEMM] * 20_000, "b"), products(4_000, fusion("b", 8))),
        (("twin_0", "a") * 20_000, twins(4_000)),
        (("a", GEMM) * 10_000, products(4_000)),
    ],
    ids=["between", "alike", "again"],
)
def test_many_kernels_of_a_long_program_take_no_longer_for_each(
    kernels: tuple[str, ...], entry: list[Instruction]
) -> None:
    """Each walked the program: the first took 24 s."""
    host = recorded(*kernels, entry=entry)
    began = time.process_time()
    ops(host)
    assert time.process_time() - began < 5
