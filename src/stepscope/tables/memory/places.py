"""What blocks were allocated for: the op, the module or the line of the program that asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final, Literal, get_args

import numpy as np

from stepscope.columns import stats_by_name
from stepscope.columns.space import I32, I64
from stepscope.schema import names
from stepscope.tables.core.op_name import OpCategory, parse_op_name
from stepscope.tables.core.op_scopes import alike
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.memory.allocations import AllocationLabels, Allocations, allocations
from stepscope.tables.ops.module_tree import has_modules, module_calls, module_lines
from stepscope.tables.python.frames import own_places_on

HolderKind = Literal["op", "region", "type", "module", "line"]
HOLDER_KINDS: Final[tuple[HolderKind, ...]] = get_args(HolderKind)
_MOST_SCOPES: Final = 400


def holder_labels(host: Host, by: HolderKind) -> AllocationLabels:
    """What each allocator event of a host is for; the text "" where that was not recorded."""
    found = allocations(host)
    if found is None:
        return AllocationLabels(np.zeros(0, np.int32), [""])
    labels = {
        "op": _ops,
        "region": lambda _: found.region,
        "type": lambda _: found.data_type,
        "module": _modules,
        "line": _lines,
    }[by](host)
    return labels or AllocationLabels(np.zeros(len(found), np.int32), [""])


@derived
def recorded_kinds(host: Host) -> tuple[HolderKind, ...]:
    """The kinds of holders that tell any of the host's allocator events apart."""
    return tuple(by for by in HOLDER_KINDS if _is_recorded(host, by))


def _is_recorded(host: Host, by: HolderKind) -> bool:
    if by == "line":
        return _has_lines(host)
    return bool((holder_labels(host, by).codes > 0).any())


@derived
def _ops(host: Host) -> AllocationLabels | None:
    """The op, what encloses the event where it names none; ops of layers that repeat are one."""
    found = allocations(host)
    if found is None:
        return None
    texts = alike([*map(_op_name, found.op.texts), *found.context.texts])
    is_said = found.op.codes > 0
    codes = np.where(is_said, found.op.codes, found.context.codes + len(found.op.texts))
    return _merged(codes, texts)


def _op_name(text: str) -> str:
    """The op as other tools call it: some allocators name its type, too."""
    name = parse_op_name(text)
    return name.name if name.category is not OpCategory.UNKNOWN else text


def _scopes(found: Allocations) -> AllocationLabels:
    """The name scope of the op, as deep as few enough of them differ."""
    paths = [text.split("/")[:-1] for text in found.op.texts]
    depth = next(
        (
            deep
            for deep in range(max(map(len, paths), default=0), 1, -1)
            if len({tuple(path[:deep]) for path in paths}) <= _MOST_SCOPES
        ),
        1,
    )
    return _merged(found.op.codes, ["/".join(path[:depth]) for path in paths])


def _merged(codes: I64 | I32, texts: Iterable[str]) -> AllocationLabels:
    """Equal texts as one; "" stays the first."""
    index = {"": 0}
    lut = np.asarray([index.setdefault(text, len(index)) for text in texts], np.int32)
    return AllocationLabels(lut[codes], list(index))


@derived
def _modules(host: Host) -> AllocationLabels | None:
    """The innermost PyTorch module around each event; the scope of its op where there is none."""
    if not has_modules(host):
        found = allocations(host)
        return None if found is None else _scopes(found)
    calls = module_calls(host)

    def around(thread: int, times: I64) -> I64:
        return calls.threads[thread].around(times)

    return _split_by_thread(host, calls.names, calls.threads, around)


@derived
def _lines(host: Host) -> AllocationLabels | None:
    """The line of the program that asked: its stack says it, else Python's calls do."""
    if _has_stacks(host):
        found = allocations(host)
        return None if found is None else found.op
    lines: dict[int, list[int]] = {}
    for row in module_lines(host):
        lines.setdefault(host.space.lines[row].id, []).append(row)
    texts: dict[str, int] = {}

    def around(thread: int, times: I64) -> I64:
        return own_places_on(host, lines[thread], texts, lambda name: name.place)(times)

    return _split_by_thread(host, texts, lines, around)


def _has_stacks(host: Host) -> bool:
    """Whether allocator events come with their stacks, and name their op by the line."""
    rows = stats_by_name(host.space, (names.SOURCE_STACK,))[names.SOURCE_STACK].rows
    text = host.space.event_metadata.name
    return any(text[row] in names.MEMORY_EVENTS for row in host.space.events.metadata[rows[:1]])


def _has_lines(host: Host) -> bool:
    return _has_stacks(host) or any(
        host.space.lines[row].end > host.space.lines[row].begin for row in module_lines(host)
    )


def _split_by_thread(
    host: Host,
    texts: list[str] | dict[str, int],
    threads: Collection[int],
    around: Callable[[int, I64], I64],
) -> AllocationLabels | None:
    """Labels of events by what is around them on their thread: codes into ``texts``, -1: none."""
    found = allocations(host)
    if found is None:
        return None
    line = host.space.lines_of(found.rows)
    thread = np.asarray([one.id for one in host.space.lines], np.int64)[line]
    codes = np.zeros(len(found), np.int32)
    for one in np.unique(thread).tolist():
        if one in threads:
            mine = np.flatnonzero(thread == one)
            codes[mine] = around(one, found.time_ps[mine]) + 1
    # Modules of one name in several places of the tree are one holder.
    return _merged(codes, ["", *texts])
