"""HLO text of one instruction, as the compiler's own dumps write it."""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.errors import DecodeError
from stepscope.tables.hlo.module import HloModule, Instruction, fields_of, ints_of
from stepscope.tables.hlo.window import window_dimensions

_DIMENSIONS, _PARAMETER, _COMPARISON, _CHANNEL = 14, 9, 63, 26
_SLICE, _DYNAMIC_SLICE_SIZES, _DOT, _CONV_NUMBERS = 17, 20, 30, 16
_WITH_DIMENSIONS = frozenset(
    {
        "all-gather",
        "all-to-all",
        "broadcast",
        "concatenate",
        "iota",
        "reduce",
        "reduce-scatter",
        "reverse",
        "sort",
        "transpose",
    }
)
_DOT_TEXT = (
    (3, "lhs_batch_dims"),
    (1, "lhs_contracting_dims"),
    (4, "rhs_batch_dims"),
    (2, "rhs_contracting_dims"),
)


def expression(module: HloModule, instruction: Instruction) -> str:
    """The instruction in HLO text, without metadata and backend configuration."""
    operands = ", ".join(f"{one.shape} %{one.name}" for one in module.operands(instruction))
    if instruction.opcode == "parameter":
        operands = str(next(iter(instruction.ints(_PARAMETER)), 0))
    elif instruction.opcode == "constant":
        operands = "…"
    head = f"%{instruction.name} = {instruction.shape} {instruction.opcode}({operands})"
    try:
        return ", ".join([head, *_attributes(module, instruction)])
    except DecodeError:
        return head


def _attributes(module: HloModule, instruction: Instruction) -> Iterator[str]:
    opcode = instruction.opcode
    if opcode in _WITH_DIMENSIONS:
        yield f"dimensions={_braces(instruction.ints(_DIMENSIONS))}"
    elif opcode == "get-tuple-element":
        yield f"index={instruction.tuple_index}"
    elif opcode == "compare":
        yield f"direction={instruction.message(_COMPARISON).decode('utf-8', 'replace')}"
    elif opcode == "slice":
        yield f"slice={{{', '.join(_slices(instruction))}}}"
    elif opcode == "dynamic-slice":
        yield f"dynamic_slice_sizes={_braces(instruction.ints(_DYNAMIC_SLICE_SIZES))}"
    elif opcode == "dot":
        yield from _dot(instruction)
    if window := _window_text(instruction):
        yield f"window={{{window}}}"
    if labels := _dim_labels(instruction):
        yield f"dim_labels={labels}"
    if channel := next(iter(instruction.ints(_CHANNEL)), 0):
        yield f"channel_id={channel}"
    if opcode == "fusion":
        yield f"kind=k{instruction.fusion_kind}"
    yield from _calls(module, instruction)
    if opcode == "custom-call":
        yield f'custom_call_target="{instruction.custom_call_target}"'


def _calls(module: HloModule, instruction: Instruction) -> Iterator[str]:
    called = [f"%{one.name}" for one in module.called(instruction)]
    if not called:
        return
    if instruction.opcode == "while" and len(called) == 2:
        body, condition = called
        yield f"condition={condition}"
        yield f"body={body}"
    elif instruction.opcode == "conditional":
        yield f"branch_computations={{{', '.join(called)}}}"
    elif len(called) == 1:
        enclosing = instruction.opcode in ("fusion", "async-start", "custom-call")
        yield f"{'calls' if enclosing else 'to_apply'}={called[0]}"
    else:
        yield f"calls={{{', '.join(called)}}}"


def _dot(instruction: Instruction) -> Iterator[str]:
    numbers = fields_of(instruction.message(_DOT))
    for number, word in _DOT_TEXT:
        if number in numbers:
            yield f"{word}={_braces(ints_of(numbers[number]))}"


def _window_text(instruction: Instruction) -> str:
    """Of a window only what differs from the default, e.g. "size=3x3 stride=2x2 pad=1_1x1_1"."""
    dimensions = window_dimensions(instruction)
    if not dimensions:
        return ""
    parts = [f"size={'x'.join(str(one.size) for one in dimensions)}"]
    pads = [f"{one.low}_{one.high}" for one in dimensions]
    for name, each, default in (
        ("stride", [str(one.stride) for one in dimensions], "1"),
        ("pad", pads, "0_0"),
        ("lhs_dilate", [str(one.base_dilation) for one in dimensions], "1"),
        ("rhs_dilate", [str(one.dilation) for one in dimensions], "1"),
    ):
        if any(value != default for value in each):
            parts.append(f"{name}={'x'.join(each)}")
    return " ".join(parts)


def _dim_labels(instruction: Instruction) -> str:
    """Of a convolution, e.g. "b01f_01io->b01f": what each dimension of each array is."""
    numbers = fields_of(instruction.message(_CONV_NUMBERS))
    if not numbers:
        return ""

    def label(first: tuple[str, int], second: tuple[str, int], spatial: int) -> str:
        places = {next(iter(ints_of(numbers.get(n, []))), 0): word for word, n in (first, second)}
        marks = {place: str(n) for n, place in enumerate(ints_of(numbers.get(spatial, [])))}
        return "".join(word for _, word in sorted((places | marks).items()))

    left = label(("b", 7), ("f", 8), 11)
    kernel = label(("i", 3), ("o", 4), 6)
    return f"{left}_{kernel}->{label(('b', 9), ('f', 10), 12)}"


def _slices(instruction: Instruction) -> Iterator[str]:
    for item in instruction.attributes.get(_SLICE, ()):
        said = fields_of(item).items() if isinstance(item, bytes) else ()
        found = {number: told[-1] for number, told in said if isinstance(told[-1], int)}
        stride = found.get(3, 1)
        yield f"[{found.get(1, 0)}:{found.get(2, 0)}{f':{stride}' if stride != 1 else ''}]"


def _braces(numbers: tuple[int, ...]) -> str:
    return f"{{{','.join(map(str, numbers))}}}"
