"""What the host did to bring data: every kind of input activity, as one list of ops in sum.

Four recorders of input are read (reference §4.2 knows the first two):

* framework ops: tf.data iterators (``Iterator::A::B``), infeed enqueues, copies to the device;
* annotated stages (``_ipl_stage_name``), which any framework may write;
* spans of data loaders: PyTorch's ``enumerate(DataLoader)``, ``next(…)`` and ``load_batch``
  annotations of a Python loop;
* Python functions inside tf.data, and the readers (h5py, PIL, NumPy …) that the Python tracer
  saw inside them.

``IteratorGetNext`` is left out on purpose: it is the victim of a slow pipeline, not its cause.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import numpy as np

from stepscope.columns import distinct, distinct_keys, nest, rows_of, stats_by_name, sum_by_key
from stepscope.columns.space import DATA_OCCURRENCES, I64
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.distinct_rows import distinct_rows
from stepscope.tables.core.op_name import OpCategory, OpName
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.presence import any_event, entries_called, entries_shaped
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import StatTexts, event_stats
from stepscope.tables.host.events import (
    host_thread_rows,
    is_data_loader,
    is_tf_data_thread,
    on_host_threads,
)
from stepscope.tables.host.ops import host_ops, named_ops

DEMANDED: Final = "Demanded file read"
ADVANCED: Final = "Advanced file read"
PREPROCESSING: Final = "Preprocessing"
ENQUEUE: Final = "Enqueue"
OTHER: Final = "Other"
CATEGORIES: Final = (DEMANDED, ADVANCED, PREPROCESSING, ENQUEUE, OTHER)

# Leaves of iterators that read files, and stages that make a reader run ahead of its consumer.
_READERS = ("TFRecord", "TextLine", "FixedLengthRecord", "SSTable", "RecordIO", "ArrayRecord")
_FILE_READ = re.compile(rf"::({'|'.join(_READERS)})(V\d+)?(\[\d+\])?$")
_AHEAD = re.compile(
    r"::(MemoryReader|MemoryWriter|Interleave|ParallelInterleave|Prefetch|"
    r"ParallelMap)"
)
_STAGE_CATEGORY = {"enqueue": ENQUEUE, "read": DEMANDED, "preprocessing": PREPROCESSING}
# Python frames ("$file.py:line function") of libraries whose business is reading data.
_READER_FRAME = re.compile(
    r"\$(<[^>]*>|.*/)?(h5py|PIL|imageio|cv2|tifffile|rasterio|zarr|netCDF4|nibabel|pydicom|"
    r"soundfile|librosa|pyarrow|fastparquet|pandas/io|Image\.py|ImageFile\.py|npyio\.py|"
    r"readers?\.py|_hl/\w+\.py)|\$(builtins|io) (open|read)\b|\$\S+ imread\b"
)
_INSTANCE = re.compile(r"\[\d+\]")


@dataclass(frozen=True, eq=False, slots=True)
class InputOps:
    """Input ops in sum, one row per op.

    Attributes:
        name, category: The op and one of ``CATEGORIES``.
        count: Times it ran.
        total_ps, self_ps: Σ duration, and Σ duration without the input ops inside it on the
            same thread.
    """

    name: list[str]
    category: list[str]
    count: I64
    total_ps: I64
    self_ps: I64

    def __len__(self) -> int:
        return len(self.name)


@derived
def input_ops(host: Host) -> InputOps:
    """All input ops of a host."""
    return merge_input_ops([_framework_input(host), _spans_of_input(host)])


def has_input_ops(host: Host) -> bool:
    """Whether ``input_ops`` has any.

    Names and stages say so in the first event. Where ops are named by stats instead, which of
    them bring data is known from all their texts only.
    """
    if _has_named_input(host):
        return True
    threads = host_thread_rows(host).tolist()
    is_said_by_stats = any_event(host, threads, stats=(names.TF_OP, names.HLO_OP))
    return is_said_by_stats and len(input_ops(host)) > 0


def _has_named_input(host: Host) -> bool:
    threads = host_thread_rows(host).tolist()
    op_of_entry, ops = named_ops(host)
    brings = np.asarray([category_of(op) is not None for op in ops] + [False])
    ran = brings[op_of_entry] & ~entries_called(host, names.MEMORY_EVENTS)
    loads = entries_shaped(host, lambda name: _span_category(name) == OTHER)
    in_pipeline = entries_shaped(host, lambda name: _span_category(name) is not None)
    pipeline = [row for row in threads if is_tf_data_thread(host.space.lines[row].name)]
    lines = range(len(host.space.lines))
    return (
        any_event(host, threads, entries=ran | loads)
        or any_event(host, pipeline, entries=in_pipeline)
        or any_event(host, lines, stats=(names.INPUT_STAGE_NAME,))
    )


def without_instances(name: str) -> str:
    """An iterator's long name without the numbers of repeated or interleaved instances."""
    return _INSTANCE.sub("", name)


def merge_input_ops(parts: list[InputOps], rename: Callable[[str], str] | None = None) -> InputOps:
    """Several lists as one, summed by name (after ``rename``)."""
    index: dict[str, int] = {}
    category: list[str] = []
    keys: list[int] = []
    for part in parts:
        for name, kind in zip(part.name, part.category, strict=True):
            label = rename(name) if rename else name
            if label not in index:
                index[label] = len(index)
                category.append(kind)
            keys.append(index[label])
    key, size = np.asarray(keys, dtype=np.int64), len(index)

    def total(column: str) -> I64:
        values = [getattr(part, column) for part in parts] or [np.zeros(0, dtype=np.int64)]
        return sum_by_key(key, np.concatenate(values), size)

    return InputOps(list(index), category, total("count"), total("total_ps"), total("self_ps"))


def category_of(op: OpName) -> str | None:
    """The category of a framework op that brings data; None for any other op."""
    if op.type.startswith("InfeedEnqueue") or op.type == "MemcpyHToD":
        return ENQUEUE
    if op.category is not OpCategory.TF_DATA:
        return None
    if _FILE_READ.search(op.name):
        return ADVANCED if _AHEAD.search(op.name) else DEMANDED
    return PREPROCESSING


def _framework_input(host: Host) -> InputOps:
    found = host_ops(host)
    category = [category_of(op) for op in found.ops]
    wanted = np.asarray([one is not None for one in category] or [False], dtype=bool)
    keep = found.is_execution & wanted[found.op]
    op, size = found.op[keep].astype(np.int64), len(found.ops)
    duration = host.space.length_ps[found.rows[keep]]
    chosen = distinct(op)
    return InputOps(
        name=[found.ops[row].name for row in chosen.tolist()],
        category=[category[row] or OTHER for row in chosen.tolist()],
        count=np.bincount(op, minlength=size)[chosen],
        total_ps=sum_by_key(op, duration, size)[chosen],
        self_ps=sum_by_key(op, found.self_ps[keep], size)[chosen],
    )


@dataclass(frozen=True, eq=False, slots=True)
class _Labelled:
    """Events that are input by what they are called, by event row; ``label`` counts the texts."""

    rows: I64
    label: I64
    text: list[str]
    category: list[str]


def _spans_of_input(host: Host) -> InputOps:
    """Stages, loaders, Python functions and readers: nested among themselves, then summed."""
    space = host.space
    found = _label_stages(host, _named_input(host))
    timed = space.events.data[found.rows] != DATA_OCCURRENCES
    rows = found.rows[timed]
    start, duration = space.events.start_ps[rows], space.length_ps[rows]
    self_ps = nest(start, duration, np.searchsorted(rows, space.line_begin)).self_ps
    first, key = distinct_keys(found.label[timed])
    chosen, size = found.label[timed][first].tolist(), len(first)
    return InputOps(
        name=[found.text[one] for one in chosen],
        category=[found.category[one] for one in chosen],
        count=np.bincount(key, minlength=size),
        total_ps=sum_by_key(key, duration, size),
        self_ps=sum_by_key(key, self_ps, size),
    )


def _named_input(host: Host) -> _Labelled:
    """Loaders, Python functions and readers on the host's threads, by their names."""
    space, kinds = host.space, planes(host).plane_kind
    labels: list[str] = []
    category: list[str] = []
    per_name = np.full(max(len(space.event_metadata), 1), -1, dtype=np.int64)
    only_in_pipeline = np.zeros(len(per_name), dtype=bool)
    for row, (name, plane) in enumerate(
        zip(space.event_metadata.name, space.event_metadata.plane.tolist(), strict=True)
    ):
        kind = _span_category(name) if kinds[plane] is PlaneKind.HOST else None
        if kind is not None:
            per_name[row] = len(labels)
            only_in_pipeline[row] = kind != OTHER
            labels.append(name)
            category.append(kind)
    rows = rows_of(space.events.metadata, per_name >= 0)
    # A reader counts where the pipeline runs; the program may open other files elsewhere.
    of_tf_data = np.asarray([is_tf_data_thread(line.name) for line in space.lines] or [False])
    loose = only_in_pipeline[space.events.metadata[rows]] & ~of_tf_data[space.lines_of(rows)]
    rows = rows[on_host_threads(host)[rows] & ~loose]
    return _Labelled(rows, per_name[space.events.metadata[rows]], labels, category)


def _span_category(name: str) -> str | None:
    """The category of an event by its name alone; None when it is not input."""
    if is_data_loader(name):
        return OTHER
    if _READER_FRAME.match(name):
        return DEMANDED
    if name.rpartition(":")[2] in names.PYTHON_OPS:
        return PREPROCESSING
    return None


def _label_stages(host: Host, named: _Labelled) -> _Labelled:
    """Annotated stages have labels of their own, whatever their names say."""
    stage = event_stats(host).texts(names.INPUT_STAGE_NAME)
    if len(stage.rows) == 0:
        return named
    said = stats_by_name(host.space, (names.INPUT_STAGE_CATEGORY,))[
        names.INPUT_STAGE_CATEGORY
    ].texts
    given = StatTexts(said.rows, said.codes, said.values)
    last = np.append(stage.rows[1:] > stage.rows[:-1], True)  # of an event that says it twice
    rows, code = stage.rows[last], stage.codes[last].astype(np.int64)
    category = given.at(rows)
    first, label = distinct_rows((code, category))
    word = [given.texts[one].lower() if one >= 0 else "" for one in category[first].tolist()]
    rest = ~np.isin(named.rows, rows)
    all_rows = np.concatenate([named.rows[rest], rows])
    order = np.argsort(all_rows)
    return _Labelled(
        rows=all_rows[order],
        label=np.concatenate([named.label[rest], label + len(named.text)])[order],
        text=named.text + [stage.texts[one] for one in code[first].tolist()],
        category=named.category + [_STAGE_CATEGORY.get(one, OTHER) for one in word],
    )
