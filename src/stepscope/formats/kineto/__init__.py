"""PyTorch's recordings (Kineto's trace JSON).

``reading`` turns text into columns in order of time: slices, allocations, arrows, counters.
``planes`` turns those into planes, lines and stats that every tool reads; ``links`` finds the op
of every kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stepscope.formats.format import Format, Peek
from stepscope.formats.kineto.recognise import HEAD_BYTES, identity, promises_trace, starts_trace

if TYPE_CHECKING:
    from stepscope.columns.space import Space


def _writer(file: Peek) -> str:
    from stepscope.formats.kineto.recognise import writer

    return writer(file.at(0, HEAD_BYTES))


def _open(pieces: Iterable[bytes], file: str) -> Space:
    from stepscope.formats.kineto.open_trace import open_trace

    return open_trace(pieces, file=file)


FORMATS = (
    Format(
        id="kineto",
        title="Chrome trace (JSON)",
        head_bytes=HEAD_BYTES,
        promises=promises_trace,
        starts=starts_trace,
        open=_open,
        writer=_writer,
        whose=identity,
    ),
)
