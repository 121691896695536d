"""What PyTorch's backward pass runs of the forward pass again, under ``torch.utils.checkpoint``.

A node of the backward pass computes with plain products and sums. Ops that models are made of, such
as ``linear`` or ``layer_norm``, are in one where it first runs a part of the model again: to have
what was not kept.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.columns import distinct, innermost, rows_of, sum_by_key, union_spans
from stepscope.columns.space import I64
from stepscope.quantities import share_words
from stepscope.records import dataclass
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.regions import is_of_backward
from stepscope.tables.core.time_spans import covered
from stepscope.tables.device.events import device_events
from stepscope.tables.steps.attribution import steps
from stepscope.tables.torch.launches import launched

# What models call, and no gradient does.
_OF_MODELS: Final = re.compile(
    r"^aten(?:/|::)(linear|conv[123]d|conv_transpose[123]d|layer_norm|batch_norm|group_norm|"
    r"rms_norm|instance_norm|embedding|scaled_dot_product_attention|lstm|gru)(?::|$)"
)
# A function with a gradient of its own may call one of them there; a part of a model has several.
_LEAST_KINDS: Final = 2


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What is run again in an average kept step.

    Attributes:
        ms: How long, on the host or, where it launched work of a device, on devices.
        ops: The ops with most of it, and their shares of the time of all that models call in it.
        first: Name of the event of the largest op.
    """

    ms: float
    ops: str
    first: str


@derived
def recomputed(host: Host) -> Recomputed | None:
    """None where no backward pass runs a part of a model, or no step is known."""
    found, space = steps(host), host.space
    if found is None or not found.kept.any():
        return None
    is_called = entries_shaped(host, lambda name: _OF_MODELS.match(name) is not None)
    is_node = entries_shaped(host, is_of_backward)
    called = rows_of(space.events.metadata, is_called)
    nodes = rows_of(space.events.metadata, is_node)
    if len(called) == 0 or len(nodes) == 0:
        return None
    called, begin, end, thread = _again(host, called, nodes)
    start, until = found.start_ps[found.kept], found.end_ps[found.kept]
    at = np.searchsorted(start, space.events.start_ps[called], side="right") - 1
    called = called[(at >= 0) & (space.events.start_ps[called] < until[np.maximum(at, 0)])]
    meta, code = np.unique(space.events.metadata[called], return_inverse=True)
    spent = sum_by_key(code.astype(np.int32), space.length_ps[called], len(meta))
    time: dict[str, int] = {}
    for row, length in zip(meta.tolist(), spent.tolist(), strict=True):
        name = space.event_metadata.name[row]
        time[name] = time.get(name, 0) + length
    if len({_plain(name) for name in time}) < _LEAST_KINDS:
        return None
    on_host = int(covered(*union_spans(begin, end), start, until).sum())
    on_devices = int(covered(*_launched_in(host, begin, end, thread), start, until).sum())
    return Recomputed(
        ms=(on_devices or on_host) / len(start) / 1e9,
        ops=_listed(time),
        first=max(time, key=lambda name: time[name]),
    )


def _again(host: Host, called: I64, nodes: I64) -> tuple[I64, I64, I64, I64]:
    """Of what models call what nodes of the backward pass run, and the spans of it in each node.

    Returns:
        The events, then begin, end and thread of each span, from the first to the last in a node.
    """
    space = host.space
    ids = np.asarray([line.id for line in space.lines], dtype=np.int64)
    line_of, line_of_node = space.lines_of(called), space.lines_of(nodes)
    node = np.full(len(called), -1, dtype=np.int64)
    for line in distinct(line_of_node).tolist():
        mine, own = np.flatnonzero(line_of == line), np.flatnonzero(line_of_node == line)
        start = space.events.start_ps[nodes[own]]
        at = innermost(
            start, start + space.length_ps[nodes[own]], space.events.start_ps[called[mine]]
        )
        node[mine] = np.append(own, -1)[at]
    inside = node >= 0
    called, node = called[inside], node[inside]
    used, which = np.unique(node, return_inverse=True)
    begin = np.full(len(used), np.iinfo(np.int64).max)
    end = np.full(len(used), np.iinfo(np.int64).min)
    np.minimum.at(begin, which, space.events.start_ps[called])
    np.maximum.at(end, which, space.events.start_ps[called] + space.length_ps[called])
    return called, begin, end, ids[line_of_node[used]]


def _launched_in(host: Host, begin: I64, end: I64, thread: I64) -> tuple[I64, I64]:
    """When devices run what threads launch within spans of theirs; disjoint, ascending."""
    events, calls = device_events(host), launched(host)
    chosen = np.zeros(len(calls.call), dtype=bool)
    for one in distinct(thread).tolist():
        spans = union_spans(begin[thread == one], end[thread == one])
        mine = np.flatnonzero(calls.thread == one)
        at = np.searchsorted(spans[0], calls.start_ps[mine], side="right") - 1
        chosen[mine] = (at >= 0) & (calls.start_ps[mine] < spans[1][np.maximum(at, 0)])
    return union_spans(events.start_ps[chosen], events.end_ps[chosen])


def _plain(name: str) -> str:
    """An op's name as programs write it: "linear" of "aten/linear:linear"."""
    found = _OF_MODELS.match(name)
    return found[1] if found else name


_MOST_LISTED: Final = 3


def _listed(time: dict[str, int]) -> str:
    whole = max(sum(time.values()), 1)
    largest = sorted(time.items(), key=lambda item: -item[1])[:_MOST_LISTED]
    return ", ".join(f"{_plain(name)} {share_words(spent / whole)}" for name, spent in largest)
