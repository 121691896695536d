"""Programs of strangers: what contradicts itself, runs in circles or overflows is answered soon."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuzz.answers import failures_of
from tests.profiles.hlo import (
    Instruction,
    f32,
    instruction,
    metadata_plane,
    program,
    shape,
    tuple_of,
)
from tests.profiles.model import gpu, space, stream, u

TOOLS = (
    "graph_viewer",
    "hlo_stats",
    "memory_viewer",
    "op_profile",
    "step_account",
    "collectives",
    "roofline_model",
    "kernel_stats",
)
_HUGE = (1 << 62) - 57
X = instruction("x", "parameter", f32(4), parameter_number=0)


def failed(path: Path, data: bytes, *ops: str) -> list[str]:
    """What did not answer about a program and a run of some of its ops on a GPU."""
    events: list[Any] = []
    for at, op in enumerate(ops):
        stats = {"hlo_op": op, "hlo_module": "jit_f", "program_id": u(7)}
        events.append((op, 10.0 * at, 8.0, stats))
    planes = metadata_plane(("jit_f", 7, data)), gpu(0, stream(14, *events))
    path.write_bytes(space(*planes))
    began = time.process_time()
    wrong = failures_of(path, TOOLS)
    assert time.process_time() - began < 30  # most took forever
    return wrong


def one(op: Instruction, *others: Instruction) -> bytes:
    return program("jit_f", [X, *others, op])


def circle_of_frames() -> bytes:
    """The frame of an instruction is its own parent, and of no place."""
    data = bytearray(one(instruction("a", "add", f32(4), "x", "x", stack=[("f.py", 1, "f")])))
    frame = data.rindex(b"\x22\x02\x08\x01")  # location 1, no parent
    assert data[frame - 4 : frame + 4].count(b"\x08\x01")
    # The same length: location 0 and parent 1 take 4 bytes, so a second field is put in its place.
    changed = bytes(data[:frame]) + b"\x22\x02\x10\x01" + bytes(data[frame + 4 :])
    assert len(changed) == len(data)
    return changed


def circle_of_views() -> bytes:
    body = [instruction("p", "parameter", f32(4)), instruction("v", "bitcast", f32(4), "v")]
    return program(
        "jit_f", [X, instruction("a", "fusion", f32(4), "x", calls=["b"])], bodies={"b": body}
    )


def everything_calls_everything(opcode: str) -> bytes:
    """Ten in each of sixteen bodies call the next: 10^16 ways."""
    bodies = {
        f"b{depth}": [
            instruction(f"f{depth}.{at}", opcode, f32(4), calls=[f"b{depth + 1}"] * (depth < 16))
            for at in range(10)
        ]
        for depth in range(17)
    }
    return program("jit_f", [X, instruction("a", opcode, f32(4), "x", calls=["b0"])], bodies=bodies)


def everything_reads_everything() -> bytes:
    layers = [
        instruction(
            f"t{depth}.{at}", "transpose", f32(4), *(f"t{depth - 1}.{n}" for n in range(60))
        )
        if depth
        else instruction(f"t{depth}.{at}", "transpose", f32(4), "x")
        for depth in range(9)
        for at in range(60)
    ]
    return one(instruction("a", "dot", f32(4), *(f"t8.{n}" for n in range(60))), *layers)


def deep_shape() -> bytes:
    deep = f32(4)
    for _ in range(90):
        deep = tuple_of(deep)
    return one(instruction("a", "add", deep, "x"))


def window(size: int, **more: int) -> dict[str, Any]:
    return {"window": {"dimensions": [{"size": size, **more}]}}


def convolved(size: int) -> bytes:
    wide = f32(1, 4096, 4)
    image = instruction("i", "parameter", wide, parameter_number=1)
    return one(instruction("a", "convolution", wide, "i", "i", **window(size, stride=1)), image)


def of_extents(*extents: int, opcode: str = "add") -> bytes:
    made = shape(11, *extents)
    big = instruction("b", "parameter", made, parameter_number=1)
    return one(instruction("a", opcode, made, "b", "b"), big)


def library(config: Any) -> bytes:
    text = config if isinstance(config, bytes) else json.dumps(config).encode()
    big = instruction("b", "parameter", f32(2, 3, 4, 5), parameter_number=1)
    call = instruction(
        "a",
        "custom-call",
        f32(2, 3, 4, 5),
        "b",
        "b",
        "b",
        custom_call_target=b"__cublas$gemm" if b"gemm" in text else b"__cudnn$fmhaSoftmax",
        backend_config=text,
    )
    return one(call, big)


PROGRAMS: dict[str, Callable[[], bytes]] = {
    "frames": circle_of_frames,
    "views": circle_of_views,
    "fusions": lambda: everything_calls_everything("fusion"),
    "loops": lambda: everything_calls_everything("while"),
    "calls": lambda: everything_calls_everything("call"),
    "reads": everything_reads_everything,
    "deep": deep_shape,
    "negative": lambda: of_extents(-3, 4),
    "unbounded": lambda: of_extents(-(1 << 63), 4, opcode="dot"),
    "huge": lambda: of_extents(*[_HUGE] * 40),
    "huge product": lambda: of_extents(*[_HUGE] * 40, opcode="dot"),
    "huge sort": lambda: of_extents(*[_HUGE] * 40, opcode="sort"),
    "huge transform": lambda: of_extents(_HUGE, opcode="fft"),
    "huge window": lambda: convolved(_HUGE),
    "long window": lambda: convolved(1 << 22),
    "gemm": lambda: library({"gemm_backend_config": {"dot_dimension_numbers": {
        "lhs_contracting_dimensions": ["x", -9, "-9", None, 1.5, "9" * 40]}}}),
    "gemm of none": lambda: library({"gemm_backend_config": {"dot_dimension_numbers": {
        "lhs_contracting_dimensions": 5}}}),
    "attention": lambda: library({"cudnn_fmha_backend_config": {"intermediate_tensor_shape": {
        "dimensions": ["9" * 4000] * 4}}}),
    "attention of none": lambda: library({"cudnn_fmha_backend_config": {
        "intermediate_tensor_shape": {"dimensions": 5}}}),
    "nested": lambda: library(b"[" * 50_000),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_answered(name: str, tmp_path: Path) -> None:
    assert failed(tmp_path / "a.xplane.pb", PROGRAMS[name](), "a", "x") == []
