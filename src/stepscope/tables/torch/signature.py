"""How an op of PyTorch's was called: the shapes, types and values of its inputs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any, Final, TypeGuard

from stepscope.limits import json_value
from stepscope.records import dataclass
from stepscope.tables.core.thresholds import DIMS, FEW, LARGEST_DIM

Shape = tuple[int, ...]

#: What C++ calls the types of tensors, by what people call them; and bytes of an element.
TYPES: Final[dict[str, tuple[str, int]]] = {
    "double": ("fp64", 8),
    "float": ("fp32", 4),
    "c10::BFloat16": ("bf16", 2),
    "c10::Half": ("fp16", 2),
    "c10::Float8_e4m3fn": ("fp8", 1),
    "c10::Float8_e4m3fnuz": ("fp8", 1),
    "c10::Float8_e5m2": ("fp8", 1),
    "c10::Float8_e5m2fnuz": ("fp8", 1),
    "c10::Float4_e2m1fn_x2": ("fp4", 1),
    "c10::complex<double>": ("complex128", 16),
    "c10::complex<float>": ("complex64", 8),
    "long int": ("int64", 8),
    "long": ("int64", 8),
    "int": ("int32", 4),
    "short": ("int16", 2),
    "short int": ("int16", 2),
    "signed char": ("int8", 1),
    "unsigned char": ("uint8", 1),
    "bool": ("bool", 1),
}
#: What is written for the type of a list; one of more than 30 tensors has no shapes.
TENSOR_LIST: Final = "TensorList"
_WHOLE: Final = re.compile(r"-?\d{1,12}")


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input that is a tensor.

    Attributes:
        shape: Its size in each dimension.
        type: "bf16", "fp32" …; "" where it was not recorded.
        elements: How many it has in memory: an expanded dimension has one.
    """

    shape: Shape
    type: str
    elements: int

    @property
    def bytes(self) -> float:
        """Size in memory, NaN where the type is unknown."""
        return self.elements * element_bytes(self.type)


@dataclass(frozen=True, slots=True)
class Signature:
    """A way in which an op was called.

    Attributes:
        op: Name as PyTorch writes it, "aten::mm".
        dims: Per input its shape; a tuple of shapes for a list of tensors, () for what has none.
        types: Per input what C++ calls its type; empty where types were not recorded.
        strides: Per input, like ``dims``; empty where not recorded.
        values: Per input the value of what is not a tensor, as text; empty where not recorded.
        is_triton: Whether a kernel of Triton's was called, not an op.
        list_element_bytes: Bytes of an element of its lists of tensors; 0 where they are not known.
    """

    op: str
    dims: tuple[Any, ...]
    types: tuple[str, ...]
    strides: tuple[Any, ...]
    values: tuple[str, ...]
    is_triton: bool = False
    list_element_bytes: int = 0

    def tensor(self, place: int) -> Tensor | None:
        """The tensor at a place, None where there is none."""
        shape = self.dims[place] if 0 <= place < len(self.dims) else None
        if not _is_shape(shape):
            return None
        type_ = self.types[place] if place < len(self.types) else ""
        if type_ not in TYPES and (type_ or not shape):
            return None  # a number or a list; without types only a shape tells a tensor
        strides = self.strides[place] if place < len(self.strides) else ()
        moved = shape
        if isinstance(strides, tuple) and len(strides) == len(shape):
            moved = tuple(
                size for size, step in zip(shape, strides, strict=True) if step != 0 or size == 0
            )
        return Tensor(shape, TYPES.get(type_, ("", 0))[0], prod(moved))

    def tensors(self) -> Iterator[Tensor]:
        """All inputs that are tensors."""
        for place in range(len(self.dims)):
            found = self.tensor(place)
            if found is not None:
                yield found

    def list_bytes(self, place: int) -> float | None:
        """Bytes of the tensors of a list, NaN where they are not known; None where none is."""
        listed = self.dims[place] if 0 <= place < len(self.dims) else ()
        is_list = place < len(self.types) and self.types[place] == TENSOR_LIST
        if isinstance(listed, tuple) and listed and all(map(_is_shape, listed)):
            size = sum(map(prod, listed)) * self.list_element_bytes
            return float(size) if self.list_element_bytes else math.nan
        return math.nan if is_list else None

    @property
    def has_long_list(self) -> bool:
        """Whether it has a list of so many tensors that their shapes were not recorded."""
        return any(
            type_ == TENSOR_LIST and not dims
            for type_, dims in zip(self.types, self.dims, strict=False)
        )

    def value(self, place: int) -> str:
        """The value at a place as text; "" where it was not recorded or is a tensor."""
        return self.values[place] if 0 <= place < len(self.values) else ""

    def whole_numbers(self, place: int) -> Shape:
        """The whole numbers of a value such as "[2, 2]" or "1"."""
        return tuple(int(one) for one in _WHOLE.findall(self.value(place)[:1000]))

    def flag(self, place: int) -> bool:
        """Whether the value at a place is true."""
        return self.value(place) == "True"

    @property
    def type(self) -> str:
        """The type of its first tensor of floating point, else of its first tensor."""
        types = [one.type for one in self.tensors() if one.type]
        floating = [one for one in types if one.startswith(("fp", "bf", "complex"))]
        return next(iter(floating or types), "")

    @property
    def label(self) -> str:
        """Its shapes in a few words: "8944×1024, 1024×2816"."""
        words = [_word(dims) for dims in self.dims if dims]
        return ", ".join(words[:6]) + (" …" if len(words) > 6 else "")


def element_bytes(type_: str) -> float:
    """Size of an element by the short name of its type, NaN for none that is known."""
    return _BYTES.get(type_, float("nan"))


def _is_shape(shape: Any) -> TypeGuard[Shape]:
    """Whether this is the shape of a tensor, and not damage."""
    return (
        isinstance(shape, tuple)
        and len(shape) <= DIMS
        and all(isinstance(size, int) and 0 <= size <= LARGEST_DIM for size in shape)
    )


_BYTES: Final = dict(TYPES.values())


def _word(dims: tuple[Any, ...]) -> str:
    if all(isinstance(size, int) for size in dims):
        return "×".join(map(str, dims))
    listed = [_word(one) for one in dims[:FEW] if isinstance(one, tuple)]
    more = len(dims) - len(listed)
    return " + ".join(listed) + (f" + {more} more" if more else "")


@lru_cache(maxsize=50_000)
def parse_signature(op: str, shapes: str, said: str) -> Signature:
    """Return the inputs of an event: its shapes and its arguments, as the texts of JSON."""
    args = arguments(said)
    types, strides, values = (
        _tuple(args.get(key)) for key in ("Input type", "Input Strides", "Concrete Inputs")
    )
    return Signature(
        op=op,
        dims=_tuple(_json(shapes)),
        types=tuple(map(str, types)),
        strides=strides,
        values=tuple(map(str, values)),
        is_triton=args.get("kernel_backend") == "triton",
    )


def arguments(text: str) -> dict[str, Any]:
    """Return the arguments that PyTorch noted of an event; {} where that is no JSON object."""
    found = _json(text)
    return found if isinstance(found, dict) else {}


def _json(text: str) -> Any:
    try:
        return json_value(text) if text else None
    except ValueError:
        return None


def _tuple(value: Any, depth: int = 3) -> tuple[Any, ...]:
    """Lists as tuples, what is too deep or no list as nothing."""
    if not isinstance(value, list) or not depth:
        return ()
    return tuple(_tuple(one, depth - 1) if isinstance(one, list) else one for one in value)
