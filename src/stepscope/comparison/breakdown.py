"""One run, broken down for comparison: what its average step is made of, op by op.

Of several workers the one that waits longest for the others stands for all: what every worker does
is in its own work, what only a slower one does is its waiting. Its exposed times, the time in which
nothing ran, and how much longer the slowest host's step lasted than its own, sum to the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from stepscope.columns.space import I64
from stepscope.comparison.workers import workers
from stepscope.records import dataclass
from stepscope.tables.core.distinct_rows import distinct_rows, name_codes
from stepscope.tables.core.op_name import OpCategory
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import Work
from stepscope.tables.host.ops import host_ops
from stepscope.tables.steps.attribution import PARTS
from stepscope.tables.steps.session import session_steps
from stepscope.tables.steps.statistics import F64, StepSample
from stepscope.tables.workers.exposed_time import Exposed, exposed_of

# Noise of single items comes from the means of at most this many blocks of steps.
MAX_BLOCKS: Final = 24
OP: Final = "op"
# What is not an op of the program, by the work it does: compared as a whole, not by name.
LUMPS: Final[dict[int, tuple[str, str]]] = {
    int(Work.INPUT_WAIT): ("input", "waiting for input"),
    int(Work.HOST_TO_DEVICE): ("copy", "copies to the device"),
    int(Work.DEVICE_TO_HOST): ("output", "copies to the host"),
    int(Work.LAUNCH): ("launch", "launching kernels"),
    int(Work.COMPILE): ("compilation", "compilation"),
    int(Work.WAIT): ("wait", "waiting on the host"),
}
COMMUNICATION: Final = "communication"
IDLE: Final = "idle"
WAITING: Final = "waiting for the slowest worker"
NOTHING: Final = "nothing recorded"
_PART_OF_WORK: Final = {int(work): part for part, works in PARTS.items() for work in works}


class Item(NamedTuple):
    """Something time is given to.

    Attributes:
        kind: ``OP``, "communication", "idle" or a kind of ``LUMPS``.
        side: "Device", "Host", or "" where neither is meant.
        name: Full name of the op, or what the item is.
        type: Type of the op; "" without.
        kernel: Name of the device event; "" off devices.
        part: Part of the step it belongs to.
    """

    kind: str
    side: str
    name: str
    type: str
    kernel: str
    part: str


@dataclass(frozen=True, eq=False, slots=True)
class Breakdown:
    """The average kept step of a run.

    Attributes:
        worker: Name of the worker that stands for the run.
        slowest: Name of the worker the others wait for; "" with one worker.
        sample: Time of each step (of its slowest host), outliers among them.
        items: What the step is made of.
        mean_ms: Exposed time per item and step; they sum to the mean of ``step_ms``.
        block_ms: The same per block of consecutive steps, float64[items, blocks].
        variance: Variance of ``mean_ms``, from how an item's occurrences at one place of the step
            differ from step to step; 0 if nothing shows it.
        freedom: Degrees of freedom of ``variance``.
        runs: How often each item's events run per step.
        busy_ms: How long they ran per step, hidden or not.
    """

    worker: str
    slowest: str
    sample: StepSample
    items: tuple[Item, ...]
    mean_ms: F64
    block_ms: F64
    variance: F64
    freedom: F64
    runs: F64
    busy_ms: F64

    @property
    def step_ms(self) -> F64:
        """Time of each kept step."""
        return self.sample.times[~self.sample.is_outlier]


def breakdown(profile: Profile, worker: str | None = None) -> Breakdown | None:
    """Break a run down, as seen by one worker; None when it has no kept step.

    Args:
        profile: The run.
        worker: Name of the worker to look at; by default the one that waits longest.
    """
    found, times = session_steps(profile), workers(profile)
    if found is None or found.is_window or not times:
        return None
    waiting = max(times, key=lambda one: one.wait_ms)
    chosen = next((one for one in times if one.name == worker), waiting)
    slowest = max(times, key=lambda one: one.own_ms).name if len(times) > 1 else ""
    seen = exposed_of(profile, chosen.host, chosen.device)
    return _worker_breakdown(profile.hosts[chosen.host], seen, found.sample, (chosen.name, slowest))


def _worker_breakdown(
    host: Host, one: Exposed, sample: StepSample, names: tuple[str, str]
) -> Breakdown:
    session_ms = sample.times[~sample.is_outlier]
    steps = len(session_ms)
    items, item_of = _items(host, one)
    own_ms = (one.end_ps - one.start_ps) / 1e9
    blocks = min(steps, MAX_BLOCKS)
    block_of = np.arange(steps) * blocks // steps
    width = np.bincount(block_of, minlength=blocks)
    size = len(items)

    key = item_of * blocks + block_of[one.step]
    summed = np.bincount(key, one.exposed_ps / 1e9, minlength=size * blocks)
    span = one.duration_ps.astype(np.float64)
    rest = {
        Item(IDLE, "", NOTHING, "", "", "other"): one.nothing_ps / 1e9,
        Item(COMMUNICATION, "", WAITING, "", "", "collectives"): session_ms - own_ms,
    }
    tail = np.asarray([np.bincount(block_of, v, minlength=blocks) for v in rest.values()])
    per_block = np.concatenate([summed.reshape(size, blocks), tail])
    nothing = np.full(len(rest), np.nan)
    merged, rows = _merged([*items, *rest])
    variance, freedom = _occurrences(one, item_of, size, steps)
    none = np.zeros(len(rest))
    return Breakdown(
        worker=names[0],
        slowest=names[1],
        sample=sample,
        items=merged,
        mean_ms=_added(rows, per_block.sum(axis=1) / steps),
        block_ms=_added(rows, per_block / width),
        variance=_added(rows, np.append(variance, none)),
        freedom=_added(rows, np.append(freedom, none)),
        runs=_added(rows, np.append(np.bincount(item_of, minlength=size) / steps, nothing)),
        busy_ms=_added(rows, np.append(np.bincount(item_of, span, size) / 1e9 / steps, nothing)),
    )


def _occurrences(one: Exposed, item_of: I64, size: int, steps: int) -> tuple[F64, F64]:
    """Return by item the variance of its mean, as its occurrences show it, and its freedom.

    The n-th occurrences of an item in the steps are alike; those of different places are not.
    """
    if not len(item_of):
        return np.zeros(size), np.zeros(size)
    order = np.lexsort((np.arange(len(item_of)), one.step, item_of))
    key = item_of[order] * steps + one.step[order]
    begin = np.flatnonzero(np.diff(key, prepend=-1))
    place = np.arange(len(key)) - np.repeat(begin, np.diff(np.append(begin, len(key))))
    exposed_ms = one.exposed_ps[order] / 1e9
    _, group = np.unique(np.stack([item_of[order], place]), axis=1, return_inverse=True)
    group = group.ravel()
    count = np.bincount(group)
    beyond = exposed_ms - (np.bincount(group, exposed_ms) / count)[group]
    squares = np.bincount(item_of[order], beyond**2, minlength=size)
    runs = np.bincount(item_of, minlength=size)
    of_group = np.zeros(len(count), dtype=np.int64)
    of_group[group] = item_of[order]
    freedom = runs - np.bincount(of_group, minlength=size)
    variance = squares / np.maximum(freedom, 1) * runs / steps**2
    return variance, freedom.astype(np.float64)


def _merged(items: Sequence[Item]) -> tuple[tuple[Item, ...], I64]:
    """Distinct items, and which of them each is."""
    index = {item: row for row, item in enumerate(dict.fromkeys(items))}
    return tuple(index), np.asarray([index[item] for item in items], dtype=np.int64)


def _added(rows: I64, values: F64) -> F64:
    total = np.zeros((int(rows.max()) + 1, *values.shape[1:]))
    np.add.at(total, rows, values)
    return total


def _items(host: Host, one: Exposed) -> tuple[list[Item], I64]:
    """The distinct items of a host's exposed time, and which one each row has."""
    device, ops = device_events(host), host_ops(host)
    on_device = one.device_row >= 0
    metadata = host.space.events.metadata[one.event]
    op_of_event = np.full(len(host.space.events), -1, dtype=np.int32)
    op_of_event[ops.rows] = ops.op
    op = np.where(
        on_device,
        device.op[np.maximum(one.device_row, 0)] if len(device) else -1,
        op_of_event[one.event],
    ).astype(np.int64)
    name = name_codes(host)[metadata].astype(np.int64)
    work = one.work.astype(np.int64)
    # Of what is compared as a whole neither op nor name matters; of a host's op the name does not.
    lumped = np.isin(work, list(LUMPS)) | one.is_wait
    op[lumped] = -1
    name[lumped | (~on_device & (op >= 0))] = -1
    keys = (on_device.astype(np.int64), one.is_wait.astype(np.int64), work, op, name)
    if len(work) == 0:
        return [], np.zeros(0, dtype=np.int64)
    first, item_of = distinct_rows(keys)
    table = host.space.event_metadata
    # On TPUs the name is the op's whole HLO text, and the label its name.
    texts = [label or text for label, text in zip(table.display_name, table.name, strict=True)]
    items = []
    for row, (is_device, is_wait, kind, code, named) in zip(
        first.tolist(), np.stack(keys)[:, first].T.tolist(), strict=True
    ):
        text = texts[metadata[row]] if named >= 0 else ""
        if is_wait:
            items.append(Item(COMMUNICATION, "", WAITING, "", "", _PART_OF_WORK[kind]))
        elif kind in LUMPS:
            items.append(Item(LUMPS[kind][0], "", LUMPS[kind][1], "", "", _PART_OF_WORK[kind]))
        else:
            known = (device.ops if is_device else ops.ops)[code] if code >= 0 else None
            named_op = known is not None and known.category is not OpCategory.UNKNOWN
            items.append(
                Item(
                    COMMUNICATION if kind == Work.COLLECTIVE else OP,
                    "Device" if is_device else "Host",
                    known.name if known is not None else text,
                    known.type if known is not None and named_op else "",
                    text if is_device else "",
                    _PART_OF_WORK[kind],
                )
            )
    return items, item_of
