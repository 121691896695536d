"""HLO modules: parsing, shapes, text, categories and costs, against XLA's own answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.tables.hlo.category import category
from stepscope.tables.hlo.cost import CostAnalysis
from stepscope.tables.hlo.module import HloModule, parse_module
from stepscope.tables.hlo.neighbourhood import consumers, neighbourhood, producers, whole
from stepscope.tables.hlo.shape import Shape
from stepscope.tables.hlo.text import expression
from tests.profiles.hlo import f32, instruction, program, shape

GEMM = b'{"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}'


def parsed(*entry: Any, **others: Any) -> HloModule:
    module = parse_module(program("f", entry, **others))
    assert module is not None
    return module


def chain(length: int) -> HloModule:
    first = instruction("i0", "parameter", f32(4), parameter_number=0)
    rest = [instruction(f"i{n}", "negate", f32(4), f"i{n - 1}") for n in range(1, length)]
    return parsed(first, *rest)


def test_instructions_have_names_edges_and_origin() -> None:
    module = parsed(
        instruction("a", "parameter", f32(2, 3), parameter_number=0),
        instruction("b", "tanh", f32(2, 3), "a", op_name="jit(f)/tanh", copy_of="b.0"),
    )
    found = module.instructions["b"]
    assert [one.name for one in module.operands(found)] == ["a"]
    assert found.op_name == "jit(f)/tanh"
    assert found.deduplicated_name == "b.0"
    assert module.entry is not None
    assert module.entry.root is found


def test_a_scheduled_program_runs_its_instructions_in_an_order_of_its_own() -> None:
    entry = [
        instruction("a", "parameter", f32(2), parameter_number=0),
        instruction("b", "tanh", f32(2), "a"),
        instruction("c", "negate", f32(2), "a"),
    ]
    for order, runs in ((("a", "c", "b"), "acb"), ((), "abc"), (("c", "b"), "abc")):
        module = parse_module(program("jit_f", entry, order=order))
        assert module is not None
        assert module.entry is not None
        assert "".join(one.name for one in module.in_order(module.entry)) == runs


@pytest.mark.parametrize("data", [b"", b"\x0a", b"\xff" * 20, b"\x0a\x05\x1a\x03\x0a\x7f"])
def test_damaged_protos_are_absent(data: bytes) -> None:
    assert parse_module(data) is None


@given(st.binary(max_size=200))
def test_any_bytes_give_a_module_or_none(data: bytes) -> None:
    module = parse_module(data)
    assert module is None or isinstance(module, HloModule)


@pytest.mark.parametrize(
    ("made", "text", "size", "padded"),
    [
        (f32(4, 5), "f32[4,5]{1,0}", 80, 80),
        (shape(11), "f32[]", 4, 4),
        (shape(16, 100, 100, tile=(8, 128)), "bf16[100,100]{1,0:T(8,128)}", 20000, 26624),
        (shape(11, 7, tile=(128,), space=1), "f32[7]{0:T(128)S(1)}", 28, 512),
        (shape(21, 3), "s4[3]{0}", 2, 2),
    ],
)
def test_shapes_have_text_bytes_and_padding(made: Any, text: str, size: int, padded: int) -> None:
    found = parsed(instruction("a", "parameter", made)).instructions["a"].shape
    assert (str(found), found.bytes, found.padded_bytes) == (text, size, padded)


@given(
    st.lists(st.integers(0, 70), min_size=1, max_size=4),
    st.lists(st.integers(1, 16), min_size=1, max_size=2),
)
def test_padding_never_shrinks_and_fills_whole_tiles(extents: list[int], tile: list[int]) -> None:
    found = Shape(11, tuple(extents), tiles=(tuple(tile),))
    assert found.padded_bytes >= found.bytes
    assert found.padded_bytes % (4 * math.prod(tile)) == 0


def test_text_is_the_compilers() -> None:
    module = parsed(
        instruction("p", "parameter", f32(4, 8), parameter_number=1),
        instruction("d", "dot", f32(4, 4), "p", "p", contracting=(1, 1)),
        instruction("g", "custom-call", f32(4, 4), "d", custom_call_target="__x"),
    )
    texts = [expression(module, one) for one in module.instructions.values()]
    assert texts == [
        "%p = f32[4,8]{1,0} parameter(1)",
        "%d = f32[4,4]{1,0} dot(f32[4,8]{1,0} %p, f32[4,8]{1,0} %p), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={1}",
        '%g = f32[4,4]{1,0} custom-call(f32[4,4]{1,0} %d), custom_call_target="__x"',
    ]


def test_categories_are_the_incumbents() -> None:
    module = parsed(
        instruction("a", "parameter", f32(4)),
        instruction("b", "add", f32(4), "a", "a"),
        instruction("c", "copy", f32(4), "b"),
        instruction("d", "fusion", f32(4), "c", calls=["body"], fusion_kind="kInput"),
        instruction("e", "all-reduce", f32(4), "d"),
        bodies={"body": [instruction("x", "parameter", f32(4))]},
    )
    found = [category(one) for one in module.entry.instructions] if module.entry else []
    wanted = ["parameter", "non-fusion elementwise", "data formatting", "input fusion"]
    assert found == [*wanted, "all-reduce"]


def test_a_gemm_call_costs_what_the_product_costs() -> None:
    module = parsed(
        instruction("a", "parameter", f32(16, 32)),
        instruction("b", "parameter", f32(32, 8)),
        instruction(
            "c",
            "custom-call",
            f32(16, 8),
            "a",
            "b",
            custom_call_target="__cublas$gemm",
            backend_config=GEMM,
        ),
        instruction("d", "custom-call", f32(16, 8), "c", custom_call_target="mine"),
    )
    analysis = CostAnalysis(module)
    assert analysis.of(module.instructions["c"]).flops == 2 * 16 * 8 * 32
    assert analysis.of(module.instructions["c"]).bytes == 4 * (16 * 32 + 32 * 8 + 16 * 8)
    assert math.isnan(analysis.of(module.instructions["d"]).flops)


def test_a_fusion_that_slices_reads_only_the_slice() -> None:
    module = parsed(
        instruction("p", "parameter", f32(1000)),
        instruction("f", "fusion", f32(10), "p", calls=["body"], fusion_kind="kLoop"),
        bodies={
            "body": [
                instruction("x", "parameter", f32(1000), parameter_number=0),
                instruction("y", "slice", f32(10), "x"),
                instruction("z", "add", f32(10), "y", "y"),
            ]
        },
    )
    cost = CostAnalysis(module).of(module.instructions["f"])
    assert (cost.bytes_read, cost.bytes_written, cost.flops) == (40, 40, 10)


@given(st.integers(2, 30), st.integers(0, 29), st.integers(0, 6), st.integers(1, 40))
def test_a_neighbourhood_is_what_lies_within_the_radius(
    length: int, at: int, radius: int, limit: int
) -> None:
    module = chain(length)
    centre = module.instructions[f"i{at % length}"]
    part = neighbourhood(module, centre, radius, limit)
    place = at % length
    near = range(max(0, place - radius), min(length, place + radius + 1))
    assert len(part.nodes) == min(limit, len(near))
    assert {one.name for one in part.nodes.values()} <= {f"i{n}" for n in near}
    assert len(part.edges) == len(part.nodes) - 1
    assert sum(part.hidden.values()) == (length > 1) * sum(
        1
        for one in part.nodes.values()
        for other in _beside(module, one)
        if other not in part.nodes
    )


def _beside(module: HloModule, one: Any) -> list[int]:
    return [*one.operand_ids, *module.users.get(one.id, ())]


def test_thousands_of_nodes_are_shown() -> None:
    module = chain(5000)
    assert module.entry is not None
    part = whole(module, module.entry, 10_000)
    assert (len(part.nodes), len(part.edges)) == (5000, 4999)


def test_tuples_are_seen_through() -> None:
    module = parsed(
        instruction("a", "parameter", f32(4)),
        instruction("t", "get-tuple-element", f32(4), "a", tuple_index=0),
        instruction("b", "negate", f32(4), "t"),
    )
    assert [one.name for one in producers(module, module.instructions["b"])] == ["a"]
    assert [one.name for one in consumers(module, module.instructions["a"])] == ["b"]


def _jax_functions() -> dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]]:
    import jax
    import jax.numpy as jnp

    def conv(stride: int, groups: int = 1) -> Callable[..., Any]:
        return lambda a, b: jax.lax.conv_general_dilated(
            a,
            b,
            (stride, stride),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=groups,
        )

    image, kernel = (2, 16, 16, 8), (3, 3, 8, 32)
    return {
        "dot": (lambda a, b: (a @ b + 1) * 2, ((128, 256), (256, 64))),
        "elementwise": (lambda a: jnp.tanh(a) * 2 + a, ((128, 256),)),
        "reduce": (lambda a: a.sum(0), ((128, 256),)),
        "softmax": (lambda a: jax.nn.softmax(a), ((128, 256),)),
        "convolution": (conv(1), (image, kernel)),
        "strided": (conv(2), (image, kernel)),
        "grouped": (conv(1, 2), (image, (3, 3, 4, 32))),
        "gradient": (jax.grad(lambda a, b: conv(2)(a, b).sum(), (0, 1)), (image, kernel)),
        "sort": (lambda a: jnp.sort(a), ((128, 256),)),
    }


@pytest.mark.framework_jax
@pytest.mark.parametrize(
    "name",
    [
        "dot",
        "elementwise",
        "reduce",
        "softmax",
        "convolution",
        "strided",
        "grouped",
        "gradient",
        "sort",
    ],
)
def test_flops_equal_xlas_own_analysis(name: str) -> None:
    import jax
    import jax.numpy as jnp

    function, shapes = _jax_functions()[name]
    compiled = jax.jit(function).lower(*(jnp.ones(one) for one in shapes)).compile()
    data = compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto()
    module = parse_module(_message(1, data))
    assert module is not None
    assert module.entry is not None
    analysis = CostAnalysis(module)
    found = sum(analysis.of(one).flops for one in module.entry.instructions)
    assert found == pytest.approx(compiled.cost_analysis()["flops"])


def _message(number: int, data: bytes) -> bytes:
    size, head = len(data), bytearray([number << 3 | 2])
    while size > 0x7F:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes(head) + bytes([size]) + data
