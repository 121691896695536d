"""What a batch holds: its elements and bytes, without copying it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def arrays(batch: Any) -> Iterator[Any]:
    """The arrays and tensors in a batch of nested dictionaries, lists, tuples and dataclasses."""
    if hasattr(batch, "shape") and hasattr(batch, "dtype"):
        yield batch
    elif isinstance(batch, Mapping):
        for value in batch.values():
            yield from arrays(value)
    elif isinstance(batch, (list, tuple)):
        for value in batch:
            yield from arrays(value)
    elif hasattr(batch, "__dataclass_fields__"):
        for name in batch.__dataclass_fields__:
            yield from arrays(getattr(batch, name))


def elements_of(batch: Any) -> int | None:
    """How many examples a batch has: the first dimension that all of its arrays share.

    None where they share none, as in the single element of an unbatched dataset.
    """
    firsts = set()
    for array in arrays(batch):
        shape = tuple(array.shape)
        if not shape or shape[0] is None:
            return None
        firsts.add(int(shape[0]))
    return firsts.pop() if len(firsts) == 1 else None


def bytes_of(batch: Any) -> int | None:
    """Bytes of all of its arrays; None where one does not tell (texts, ragged tensors)."""
    total = 0
    found = False
    for array in arrays(batch):
        size = _bytes(array)
        if size is None:
            return None
        total, found = total + size, True
    return total if found else None


def _bytes(array: Any) -> int | None:
    if getattr(array.dtype, "kind", "") == "O":  # NumPy's objects: these are their addresses
        return None
    known = getattr(array, "nbytes", None)
    if isinstance(known, int):
        return known
    width = getattr(array.dtype, "size", None) or getattr(array.dtype, "itemsize", None)
    if not isinstance(width, int) or width <= 0 or "string" in str(array.dtype):
        return None
    count = 1
    for length in tuple(array.shape):
        if length is None:
            return None
        count *= int(length)
    return count * width
