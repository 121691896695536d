"""In how many bits instructions compute: products by what they multiply, others by what moves."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.device.events import device_events
from stepscope.tables.hlo.module import HloModule, parse_module
from stepscope.tables.hlo.precision import computes_in_16_bits, text_computes_in_16_bits
from stepscope.tables.host.events import Work
from tests.profiles.hlo import Instruction, f32, instruction, metadata_plane, program, shape
from tests.profiles.model import Event, Kind, gpu, line, plane, ref, space, stream, u


def bf16(*dimensions: int) -> object:
    return shape(16, *dimensions)


def _dot(name: str, kind: object, left: str, right: str) -> Instruction:
    return instruction(name, "dot", kind, left, right, contracting=(1, 0))


def _operands(kind: object) -> list[Instruction]:
    return [
        instruction("x", "parameter", kind, parameter_number=0),
        instruction("w", "parameter", kind, parameter_number=1),
    ]


def _triton(taken: object, made: object) -> bytes:
    """A product that XLA hands to Triton: the fusion's result is what it accumulates in."""
    body = [
        instruction("a", "parameter", taken, parameter_number=0),
        instruction("b", "parameter", taken, parameter_number=1),
        _dot("dot.0", made, "a", "b"),
    ]
    entry = [
        *_operands(taken),
        instruction("one", "fusion", made, "x", "w", calls=["body"], fusion_kind="kCustom"),
    ]
    return program("jit_f", entry, bodies={"body": body})


def _converted() -> bytes:
    """Weights in f32 that the fusion converts before it multiplies them."""
    body = [
        instruction("a", "parameter", f32(64, 64), parameter_number=0),
        instruction("b", "parameter", f32(64, 64), parameter_number=1),
        instruction("a16", "convert", bf16(64, 64), "a"),
        instruction("b16", "convert", bf16(64, 64), "b"),
        _dot("dot.0", f32(64, 64), "a16", "b16"),
    ]
    entry = [
        *_operands(f32(64, 64)),
        instruction("one", "fusion", f32(64, 64), "x", "w", calls=["body"], fusion_kind="kCustom"),
    ]
    return program("jit_f", entry, bodies={"body": body})


def _call(target: str, *kinds: object, made: object) -> bytes:
    entry = [
        instruction(f"p{at}", "parameter", kind, parameter_number=at)
        for at, kind in enumerate(kinds)
    ]
    names = [one.name for one in entry]
    return program(
        "jit_f",
        [*entry, instruction("one", "custom-call", made, *names, custom_call_target=target)],
    )


def _plain(opcode: str, taken: object, made: object) -> bytes:
    return program("jit_f", [*_operands(taken), instruction("one", opcode, made, "x", "w")])


QKV = (bf16(4, 128, 8, 64),) * 3
CASES = [
    ("bf16 × bf16 → f32 in a Triton fusion", _triton(bf16(64, 64), f32(64, 64)), True),
    ("f32 × f32 → bf16 in a Triton fusion", _triton(f32(64, 64), bf16(64, 64)), False),
    ("f32 weights converted before the product", _converted(), True),
    (
        "fused attention with statistics in f32",
        _call("__cudnn$fmhaSoftmax", *QKV, f32(4, 8, 128), made=f32(4, 128, 8, 64)),
        True,
    ),
    ("attention in f32", _call("my_attention", *(f32(4, 128, 8, 64),) * 3, made=f32(4, 8)), False),
    ("f32 sum of bf16", _plain("reduce", bf16(4096), f32()), True),
    ("f32 optimizer", _plain("add", f32(4096), f32(4096)), False),
    ("a convert down", _plain("add", f32(64), bf16(64)), False),
    ("indices", _plain("add", shape(4, 64), shape(4, 64)), None),
]


def _module(proto: bytes) -> HloModule:
    found = parse_module(proto)
    assert found is not None
    return found


@pytest.mark.parametrize(("what", "proto", "narrow"), CASES, ids=[case[0] for case in CASES])
def test_products_count_by_what_they_multiply(what: str, proto: bytes, narrow: bool | None) -> None:
    module = _module(proto)
    assert computes_in_16_bits(module, module.instructions["one"]) is narrow


@pytest.mark.parametrize(
    ("text", "category", "narrow"),
    [
        (
            "%fusion.1 = f32[128,128]{1,0:T(8,128)} fusion(bf16[128,512]{1,0} %a, "
            "bf16[512,128]{1,0} %b), kind=kOutput",
            "convolution fusion",
            True,
        ),
        ("%add.1 = f32[64]{0} add(f32[64]{0} %a, f32[64]{0} %b)", "non-fusion elementwise", False),
        (
            "%fusion.2 = (f32[8]{0}, bf16[8192]{0}) fusion(bf16[8192]{0} %a, f32[8]{0} %b)",
            "loop fusion",
            True,
        ),
        ("%iota.1 = s32[64]{0} iota(), iota_dimension=0", "iota", None),
        ("all-done", "", None),
    ],
)
def test_the_text_of_an_op_says_the_same(text: str, category: str, narrow: bool | None) -> None:
    assert text_computes_in_16_bits(text, category) is narrow


def _kernel(op: str) -> Event:
    return Event(op, 0, 10, {"hlo_op": ref(op), "program_id": u(7)})


def test_a_bf16_program_of_triton_kernels_computes_in_16_bits_on_a_gpu() -> None:
    modules = metadata_plane(("jit_f", 7, _triton(bf16(64, 64), f32(64, 64))))
    found = device_events(Host("h", decode(space(modules, gpu(0, stream(1, _kernel("one")))))))
    assert found.work.tolist() == [Work.COMPUTE_16]
    assert found.bits_known.tolist() == [True]


def test_a_bf16_product_with_an_f32_result_computes_in_16_bits_on_a_tpu() -> None:
    text = "%fusion.1 = f32[64,64]{1,0} fusion(bf16[64,64]{1,0} %a, bf16[64,64]{1,0} %b)"
    kinds = {text: Kind("fusion.1", {"hlo_category": "convolution fusion"})}
    tpu = plane("/device:TPU:0", line("XLA Ops", (text, 0, 10)), kinds=kinds)
    found = device_events(Host("h", decode(space(tpu))))
    assert found.work.tolist() == [Work.COMPUTE_16]


def test_what_neither_program_nor_name_tells_is_not_known() -> None:
    events = ("gemm_fusion_dot_3", 0, 10), ("ampere_sgemm_64x64", 20, 10)
    found = device_events(Host("h", decode(space(gpu(0, stream(1, *events))))))
    assert found.work.tolist() == [Work.COMPUTE_32, Work.COMPUTE_32]
    assert found.bits_known.tolist() == [False, True]
