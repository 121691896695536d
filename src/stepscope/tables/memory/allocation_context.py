"""Where in the program an allocation happened, for allocators that do not say for which op.

PJRT (JAX, XLA) allocates all buffers of a program at once, outside of any op. What encloses the
event on its thread then tells more than nothing: the jitted function and the runtime's phase.
"""

from __future__ import annotations

import numpy as np

from stepscope.columns import distinct, nest
from stepscope.columns.space import I32, I64
from stepscope.schema import names
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.profile import Host

# Deeper nesting than this is a cycle of a broken recording, or not worth naming.
_MOST_LEVELS = 512


def enclosing_names(host: Host, rows: I64) -> tuple[I32, list[str]]:
    """What encloses each event on its thread: "jitted function, innermost event".

    Returns:
        Codes into texts; code 0 is "" (nothing encloses it).
    """
    space = host.space
    select = space.on_lines(distinct(space.lines_of(rows)).tolist())
    parent = nest(
        space.events.start_ps, space.events.duration_ps, space.line_begin, select=select
    ).parent.astype(np.int64)
    is_memory, is_function = (
        np.asarray([test(name) for name in space.event_metadata.name], dtype=bool)
        for test in (_is_memory, _is_function)
    )
    metadata = space.events.metadata
    innermost = np.full(len(rows), -1, dtype=np.int64)
    function = np.full(len(rows), -1, dtype=np.int64)
    above = parent[rows]
    for _level in range(_MOST_LEVELS):
        inside = np.flatnonzero(above >= 0)
        if len(inside) == 0:
            break
        name = metadata[above[inside]]
        new = inside[(innermost[inside] < 0) & ~is_memory[name]]
        innermost[new] = metadata[above[new]]
        new = inside[(function[inside] < 0) & is_function[name]]
        function[new] = metadata[above[new]]
        above[inside] = np.where(function[inside] < 0, parent[above[inside]], -1)
    return _labels(function, innermost, space.event_metadata.name)


def _labels(function: I64, innermost: I64, known: list[str]) -> tuple[I32, list[str]]:
    first, codes = distinct_rows((function, innermost))
    texts = {"": 0}
    lut = []
    for pair in zip(function[first].tolist(), innermost[first].tolist(), strict=True):
        words = dict.fromkeys(known[code] for code in pair if code >= 0)
        lut.append(texts.setdefault(", ".join(words), len(texts)))
    return np.asarray(lut, dtype=np.int32)[codes], list(texts)


def _is_memory(name: str) -> bool:
    return name in names.MEMORY_EVENTS


def _is_function(name: str) -> bool:
    return name.startswith(names.PJIT_FUNCTION)
