"""Whether what recurs is a loop, or the layers of one pass of a model.

Layers of one kind run the same ops one after the other, as steps do. What tells: that the program
marked all of it as one, that one call of a module holds all of it, that the backward pass which it
prepares is missing, and that it is a small part of what was recorded.
"""

from __future__ import annotations

import re
from typing import Final

from stepscope.columns import rows_of
from stepscope.schema import names
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host
from stepscope.tables.core.regions import is_of_backward, prepares_backward, region_name
from stepscope.tables.steps.found import Markers

# What people call the range around one pass of a model, and words that say it is a loop.
_PASS: Final = re.compile(r"inference|forward|predict|evaluat|generat|model", re.IGNORECASE)
_LOOP: Final = re.compile(r"train|loop|epoch|steps|iter|bench|batches|warm|repeat", re.IGNORECASE)
_MODULE: Final = f"{names.PYTHON_CALL_MARK}nn.Module: "
# Rounds of which nothing else says that they are steps, and less of the recording: no loop.
_LEAST_FRAC: Final = 1 / 3


def is_one_pass(host: Host, found: Markers) -> bool:
    """Whether inferred steps lie in one range that the program calls a pass of its model."""
    if found.source != "inferred" or found.line < 0:
        return False
    space = host.space
    if names.NAMED_OPS not in space.stat_metadata.name:
        return False
    line = space.lines[found.line]
    begin = space.events.start_ps[line.begin : line.end]
    until = begin + space.length_ps[line.begin : line.end]
    around = (begin <= found.start_ps[0]) & (until >= found.mark_end_ps[-1])
    return any(
        _PASS.search(name) is not None and _LOOP.search(name) is None
        for meta in space.events.metadata[line.begin : line.end][around].tolist()
        if (name := region_name(space.event_metadata.name[meta]))
    )


def is_one_module_call(host: Host, found: Markers) -> bool:
    """Whether inferred steps lie within one call of a module of PyTorch's.

    A loop calls its model in each step, and no module's call holds the loop.
    """
    if found.source not in ("inferred", "framework"):
        return False
    space = host.space
    is_module = entries_named(host, lambda name: name.startswith(_MODULE))
    rows = rows_of(space.events.metadata, is_module)
    begin = space.events.start_ps[rows]
    until = begin + space.length_ps[rows]
    # The last round may end behind the call: devices do.
    around = (begin <= found.start_ps[0]) & (until > found.start_ps[-1])
    return bool(around.any())


def is_one_forward(host: Host, found: Markers) -> bool:
    """Whether inferred steps only prepare a backward pass, which was not recorded.

    Every step of a training has one: rounds without it are the layers of a forward pass.
    """
    if found.source not in ("inferred", "framework"):
        return False
    texts = host.space.event_metadata.name
    return any(map(prepares_backward, texts)) and not any(map(is_of_backward, texts))


def is_small_part(found: Markers, recorded_ps: tuple[int, int] | None) -> bool:
    """Whether steps that are only a guess have little of what was recorded."""
    if found.source != "inferred" or found.certainty != "uncertain" or recorded_ps is None:
        return False
    steps = int(found.end_ps[-1]) - int(found.start_ps[0])
    return steps < _LEAST_FRAC * (recorded_ps[1] - recorded_ps[0])
