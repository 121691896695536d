"""PyTorch's memory snapshots (``torch.cuda.memory._dump_snapshot``): pickles of plain dicts.

``trace`` gathers what the allocator did as columns while the pickle is read, ``held`` finds out
what was held when, ``planes`` writes it in the words that the memory page knows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from stepscope.formats.format import Format, Input, Peek

if TYPE_CHECKING:
    from stepscope.columns.space import Space

_NAME: Final = re.compile(r"\.(pickle|pkl)(\.gz)?$", re.IGNORECASE)
_KEYS: Final = (b"segments", b"device_traces", b"segment_type", b"segment_pool_id")


def _promises(name: str) -> bool:
    return bool(_NAME.search(name))


def _starts(first: bytes) -> bool:
    is_pickle = first[:1] == b"\x80" and first[1:2] in (b"\2", b"\3", b"\4", b"\5")
    return is_pickle and any(key in first[:4096] for key in _KEYS)


def _open(pieces: Input, file: str) -> Space:
    from stepscope.formats.torch_memory.open_snapshot import open_snapshot

    return open_snapshot(pieces, file=file)


def _writer(file: Peek) -> str:
    first = file.at(0, 2)
    return f"PyTorch (pickle protocol {first[1]})" if len(first) > 1 else ""


FORMATS = (
    Format(
        id="torch-memory",
        title="PyTorch memory snapshot",
        head_bytes=4096,
        promises=_promises,
        starts=_starts,
        open=_open,
        writer=_writer,
    ),
)
