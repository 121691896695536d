"""What an instruction must compute and move: a cost analysis from shapes alone.

FLOPs follow XLA's own count: one per element and arithmetic operation, two per multiply-add of
a product; exponentials and their like are not FLOPs. Bytes are what a perfect cache would still
move: each operand read once, each result written once, slices only in the part they touch.
Recorders on TPUs note their compiler's costs with each op; this serves GPUs and CPUs.
"""

from __future__ import annotations

import math

from stepscope.errors import DecodeError
from stepscope.records import dataclass
from stepscope.tables.hlo.category import ARITHMETIC, NO_WORK
from stepscope.tables.hlo.library_calls import gemm_contracting, library_call_flops
from stepscope.tables.hlo.module import Computation, HloModule, Instruction, fields_of, ints_of
from stepscope.tables.hlo.shape import TUPLE, Shape
from stepscope.tables.hlo.window import WindowDimension, window_dimensions, window_size

_CONV_NUMBERS, _DOT = 16, 30
_SLICES = frozenset({"slice", "dynamic-slice", "gather"})
_ASYNC_DONE = ("-done", "-update")
# Costs of these depend on values (trip counts, branches) or on code the module does not hold.
_UNKNOWN = frozenset({"while", "conditional", "async-start", "infeed", "outfeed"})
_GEMM_TARGETS = ("gemm", "matmul")
_CONV_TARGETS = ("__cudnn$conv",)
# Nobody nests deeper; a module whose computations call themselves is damaged.
_DEEPEST = 64
# Places of windows that are looked at one by one; in larger ones padding hardly counts.
_MOST_PLACES = 1 << 20


@dataclass(frozen=True, slots=True)
class InstructionCost:
    """The cost of running an instruction once; NaN where it cannot be known.

    Attributes:
        flops: Floating-point (or integer) operations.
        bytes_read: Bytes of operands read.
        bytes_written: Bytes of results written.
    """

    flops: float = 0.0
    bytes_read: float = 0.0
    bytes_written: float = 0.0

    @property
    def bytes(self) -> float:
        """Bytes moved either way."""
        return self.bytes_read + self.bytes_written


NO_COST = InstructionCost()
UNKNOWN_COST = InstructionCost(math.nan, math.nan, math.nan)


class CostAnalysis:
    """Costs of the instructions of one module, worked out when asked for."""

    def __init__(self, module: HloModule) -> None:
        self._module = module
        self._flops: dict[int, float] = {}
        self._calls: dict[int, InstructionCost] = {}
        self._depth = 0

    def of(self, instruction: Instruction) -> InstructionCost:
        """The cost of running an instruction once."""
        opcode = instruction.opcode
        if opcode in NO_WORK or opcode.endswith(_ASYNC_DONE):
            return NO_COST
        if opcode in _UNKNOWN:
            return UNKNOWN_COST
        if opcode == "call":
            return self._call_cost(instruction)
        read, written = self._bytes(instruction)
        return InstructionCost(self.flops(instruction), read, written)

    def flops(self, instruction: Instruction) -> float:
        """FLOPs of running an instruction once, a fusion's or call's body included."""
        if instruction.id not in self._flops:
            if self._depth >= _DEEPEST:
                return math.nan
            self._depth += 1
            try:
                self._flops[instruction.id] = self._count(instruction)
            except (IndexError, DecodeError):  # of dimensions that are not there, or damage
                self._flops[instruction.id] = math.nan
            self._depth -= 1
        return self._flops[instruction.id]

    def _call_cost(self, instruction: Instruction) -> InstructionCost:
        if instruction.id in self._calls or self._depth >= _DEEPEST:
            return self._calls.get(instruction.id, UNKNOWN_COST)
        self._calls[instruction.id] = UNKNOWN_COST  # of a call to itself
        self._depth += 1
        costs = [
            self.of(one)
            for called in self._module.called(instruction)
            for one in called.instructions
        ]
        self._depth -= 1
        self._calls[instruction.id] = InstructionCost(
            sum(cost.flops for cost in costs),
            sum(cost.bytes_read for cost in costs),
            sum(cost.bytes_written for cost in costs),
        )
        return self._calls[instruction.id]

    def _count(self, instruction: Instruction) -> float:
        opcode, out = instruction.opcode, instruction.shape
        operands = [one.shape for one in self._module.operands(instruction)]
        if opcode in ARITHMETIC:
            inner = self._inner_flops(instruction) if opcode == "map" else 1.0
            return out.elements * inner
        if opcode in ("fusion", "call"):
            return self._inner_flops(instruction)
        if opcode == "dot" and operands:
            return _dot_flops(out, operands[0], ints_of(_numbers(instruction, _DOT).get(1, ())))
        if opcode == "convolution" and len(operands) == 2:
            return convolution_flops(instruction, operands[0], operands[1], out)
        if opcode == "custom-call":
            return _custom_call_flops(instruction, operands)
        return self._count_reduction(instruction, operands)

    def _count_reduction(self, instruction: Instruction, operands: list[Shape]) -> float:
        """FLOPs of ops that fold elements together with a computation they call."""
        opcode, out = instruction.opcode, instruction.shape
        each = self._inner_flops(instruction) or 1.0
        if opcode == "reduce" and operands:
            results = len(out.parts) or 1
            return (operands[0].elements - out.elements / results) * each
        if opcode == "reduce-window":
            window = window_size(instruction)
            return (window - 1) * out.elements * each / (len(out.parts) or 1)
        if opcode == "select-and-scatter" and len(operands) > 1:
            window = window_size(instruction)
            return operands[1].elements * (window - 1 + each)
        if opcode == "scatter" and len(operands) > 2:
            return operands[-1].elements * each
        if opcode.startswith(("all-reduce", "reduce-scatter")):
            return out.elements * each
        if opcode == "sort" and operands:
            return operands[0].elements * math.ceil(math.log2(max(operands[0].elements, 1)))
        if opcode in ("triangular-solve", "cholesky") and operands:
            extent = operands[0].dimensions[-1] if operands[0].dimensions else 1
            return out.elements * extent * (1.0 if opcode == "triangular-solve" else 1 / 3)
        return 0.0

    def _inner_flops(self, instruction: Instruction) -> float:
        called = self._module.called(instruction)
        return sum(self.flops(one) for body in called for one in body.instructions)

    def _bytes(self, instruction: Instruction) -> tuple[float, float]:
        """Bytes read and written."""
        opcode, out = instruction.opcode, instruction.shape
        operands = list(self._module.operands(instruction))
        if opcode in _SLICES:
            indices = sum(one.shape.bytes for one in operands[1:])
            return out.bytes + indices, out.bytes
        if opcode == "dynamic-update-slice" and len(operands) > 1:
            update = operands[1].shape.bytes
            return update + sum(one.shape.bytes for one in operands[2:]), update
        if opcode == "scatter" and len(operands) > 2:
            updates = operands[-1].shape.bytes
            return 2.0 * updates + operands[1].shape.bytes, updates
        if opcode == "fusion":
            body = next(self._module.called(instruction), None)
            if body is not None:
                return self._fusion_reads(body, operands), self._fusion_writes(body)
        return float(sum(one.shape.bytes for one in operands)), float(out.bytes)

    def _fusion_reads(self, body: Computation, operands: list[Instruction]) -> float:
        """Each operand once; of those the body only slices, the slices."""
        parameters = {
            next(iter(one.ints(9)), 0): one
            for one in body.instructions
            if one.opcode == "parameter"
        }
        return float(
            sum(
                self._read_of(parameters[place]) if place in parameters else one.shape.bytes
                for place, one in enumerate(operands)
            )
        )

    def _read_of(self, parameter: Instruction) -> float:
        users = [self._module.by_id[id_] for id_ in self._module.users.get(parameter.id, ())]
        whole, part = parameter.shape.bytes, 0
        for user in users:
            first = user.operand_ids[:1] == (parameter.id,)
            rest = parameter.id in user.operand_ids[1:]
            if user.opcode in _SLICES and first and not rest:
                part += user.shape.bytes
            elif user.opcode != "dynamic-update-slice" or not first or rest:
                return whole
        return min(part, whole) if users else 0

    def _fusion_writes(self, body: Computation) -> float:
        root = body.root
        written = list(self._module.operands(root)) if root.opcode == "tuple" else [root]
        return float(sum(self._write_of(one) for one in written))

    def _write_of(self, root: Instruction) -> float:
        """An update in place writes only the update."""
        for _ in range(_DEEPEST):  # a longer chain of views is a circle, in a damaged program
            if root.opcode != "bitcast" or len(root.operand_ids) != 1:
                break
            below = self._module.by_id.get(root.operand_ids[0])
            if below is None:
                break
            root = below
        if root.opcode == "dynamic-update-slice":
            updates = list(self._module.operands(root))[1:2]
            return sum(one.shape.bytes for one in updates)
        return root.shape.bytes


def _dot_flops(out: Shape, left: Shape, contracting: tuple[int, ...]) -> float:
    inner = math.prod(
        float(left.dimensions[d]) for d in contracting if 0 <= d < len(left.dimensions)
    )
    return 2.0 * out.elements * inner


def convolution_flops(instruction: Instruction, left: Shape, right: Shape, out: Shape) -> float:
    """Two per multiply-add; positions that fall into padding are not counted."""
    numbers = _numbers(instruction, _CONV_NUMBERS)
    names = {name: (ints_of(numbers.get(number, ())) or (0,)) for name, number in _CONV.items()}
    pairs = 1.0
    for place, dimension in enumerate(window_dimensions(instruction)):
        extent = left.dimensions[names["input_spatial"][place]]
        count = out.dimensions[names["output_spatial"][place]]
        pairs *= _valid_pairs(extent, count, dimension)
    features_in = right.dimensions[names["kernel_in"][0]]
    features_out = out.dimensions[names["output_feature"][0]]
    batch = out.dimensions[names["output_batch"][0]]
    return 2.0 * pairs * features_in * features_out * batch


_CONV = {
    "input_spatial": 11,
    "output_spatial": 12,
    "kernel_in": 3,
    "output_feature": 10,
    "output_batch": 9,
}


def _valid_pairs(extent: int, count: int, window: WindowDimension) -> int:
    """(kernel place, output place) pairs of one dimension that read a true input element."""
    size, stride, low, _high, dilation, base = window
    if size * (count if base != 1 else 1) > _MOST_PLACES:
        return size * count // base
    reach = (extent - 1) * base + 1
    valid = 0
    for tap in range(size):
        offset = tap * dilation - low
        if base == 1:
            first = max(0, -(offset // stride)) if offset < 0 else 0
            last = min(count - 1, (reach - 1 - offset) // stride)
            valid += max(0, last - first + 1)
        else:
            places = (place * stride + offset for place in range(count))
            valid += sum(1 for at in places if 0 <= at < reach and at % base == 0)
    return valid


def _custom_call_flops(instruction: Instruction, operands: list[Shape]) -> float:
    target, out = instruction.custom_call_target, instruction.shape
    result = out.parts[0] if out.element_type == TUPLE and out.parts else out
    if target.startswith(_CONV_TARGETS) and len(operands) >= 2:
        return _conv_call_flops(instruction, operands, result)
    if any(word in target.lower() for word in _GEMM_TARGETS) and len(operands) >= 2:
        contracting = gemm_contracting(instruction.backend_config)
        if contracting is not None:
            return _dot_flops(result, operands[0], contracting)
    return library_call_flops(instruction, operands)


def _conv_call_flops(instruction: Instruction, operands: list[Shape], result: Shape) -> float:
    """Backward convolutions multiply as often as the forward one whose shapes they swap."""
    target = instruction.custom_call_target
    if "BackwardInput" in target:
        return convolution_flops(instruction, result, operands[1], operands[0])
    if "BackwardFilter" in target:
        return convolution_flops(instruction, operands[0], result, operands[1])
    return convolution_flops(instruction, operands[0], operands[1], result)


def _numbers(instruction: Instruction, field: int) -> dict[int, list[int | bytes]]:
    return fields_of(instruction.message(field))
