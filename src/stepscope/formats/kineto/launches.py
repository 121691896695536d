"""How kernels and copies were launched, as the texts that XSpaces have for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stepscope.formats.kineto.names import copy_ends

#: What ``kernel_details`` tells of a launch.
LAUNCH_KEYS: Final = (
    "registers per thread", "shared memory", "grid", "block", "est. achieved occupancy %",
)  # fmt: skip


def launch_key(args: Mapping[str, Any], *, in_threads: bool = False) -> tuple[Any, ...] | None:
    """What tells launches apart; None where the recorder said nothing about the launch.

    Args:
        args: Of the kernel, or of the call that launched it.
        in_threads: The grid counts threads, not blocks.
    """
    grid, block = args.get("grid"), args.get("block")
    if in_threads and isinstance(grid, list) and isinstance(block, list):
        grid = [_blocks(*one) for one in zip(grid, block, strict=False)]
    registers = args.get("registers per thread")
    if grid is None and block is None and registers is None:
        return None
    return (
        registers,
        args.get("shared memory"),
        tuple(grid) if isinstance(grid, list) else None,
        tuple(block) if isinstance(block, list) else None,
        args.get("est. achieved occupancy %"),
    )


def _blocks(threads: Any, size: Any) -> Any:
    are_whole = isinstance(threads, int) and isinstance(size, int) and size > 0
    return -(-threads // size) if are_whole else threads


def kernel_details(key: tuple[Any, ...]) -> str:
    """``regs:32 shm:0 grid:2,1,1 block:128,1,1 occ_pct:50``; what is not known is left out.

    Kineto knows the sum of static and dynamic shared memory only, which is ``shm``.
    """
    registers, shared, grid, block, occupancy = key
    words = []
    for word, value in (("regs", registers), ("shm", shared)):
        if value is not None:
            words.append(f"{word}:{value}")
    for word, dims in (("grid", grid), ("block", block)):
        if dims:
            words.append(f"{word}:{','.join(map(str, dims))}")
    if occupancy:  # 0 is what is written when it was not asked for
        words.append(f"occ_pct:{occupancy}")
    return " ".join(words)


def memcpy_details(name: str, size_bytes: int | None, device: int) -> str:
    """``kind_src:pageable kind_dst:device size:4096 dest:0 async:1``."""
    source, target = copy_ends(name)
    size = "" if size_bytes is None else f"size:{size_bytes} "
    return f"kind_src:{source} kind_dst:{target} {size}dest:{device} async:1"
