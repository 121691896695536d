"""Python functions of the step's thread: the time they spend while nothing computes.

Recorders write a call of a function as ``$file.py:12 name``: TensorFlow's and JAX's tracer on
the thread's own line, our sampler and our tracer on planes of their own, with the whole path of
the file, and the line a function was at as ``$file.py:15`` inside of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import numpy as np

from stepscope.columns import metadata_stats_by_name, nest, rows_of, union_spans
from stepscope.columns.nesting import Nesting
from stepscope.columns.space import I64, U8, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.schema.numbers import whole_number
from stepscope.tables.core.profile import Host
from stepscope.tables.core.time_spans import covered
from stepscope.tables.core.waits import waits_for_device
from stepscope.tables.in_steps.host_activity import HostTime, host_time
from stepscope.tables.steps.recorder_work import is_recorder_frame

# Functions that wait for what runs elsewhere; to make them faster is to make that faster.
_WAITS = re.compile(
    r"(?:^|\.)(?:block_until_ready|effects_barrier|wait|_wait\w*|acquire|join|sleep|select|poll|"
    r"result|get|synchronize)$"
)
_CALL = re.compile(r"\$(.+?):(\d+)(?: (.*))?$", re.S)


# Where packages and the standard library lie; what lies elsewhere is the program's own.
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python3|^<frozen")
# Packages whose Python dispatches ops: time in them is not the program's to fix.
_FRAMEWORKS = re.compile(
    r"[/\\](?:tensorflow|keras|jax|jaxlib|flax|optax|torch|torchvision|lightning|stepscope)[/\\]"
)
_PART = re.compile(r"<(?:list|dict|set)comp>$|<genexpr>$")
_OWN, _LIBRARY, _FRAMEWORK = range(3)

# Files that only JAX has.
_FILES_OF_JAX: Final = re.compile(
    r"(pxla|pjit|partial_eval|xla_bridge|linear_util|traceback_util|api_util|source_info_util|"
    r"compilation_cache|lax_numpy|mlir|sharding_impls|custom_derivatives|array_methods|"
    r"array_constructors|xla_primitive_callable)\.py"
)
# Functions of files whose names others use, too: JAX's, TensorFlow's, then our recorder's hosts.
_FRAMEWORK_FUNCTIONS: Final = re.compile(
    r"(api\.py (try_to_block|block_until_ready|device_(put|get)\w*|cache_miss|\w+_f(un)?|\w*jit\w*)"
    r"|array\.py (_value|__\w+__|item|tolist|block_until_ready|_single_device_array\w*|"
    r"_copy_single_device\w*|copy_to_host_async|reorder_shards|_check_and_rearrange\w*)"
    r"|dispatch\.py (apply_primitive|xla_primitive_callable|\w*device_put\w*|wait_for_tokens)"
    r"|compiler\.py (\w*backend_compile\w*|compile_or_get_cached|_compile_and_\w+|_cache_\w+)"
    r"|core\.py (\w*bind\w*|process_primitive|find_top_trace|__init__)"
    r"|profiler\.py (st(art|op)_trace|__(init|enter|exit)__|wrapper|trace)"
    r"|ops\.py (_?numpy|__(array|float|int|bool|index|len)__|_numpy_internal)"
    r"|(polymorphic_function|concrete_function|atomic_function|func_graph|def_function|profiler_v2|"
    r"execute)\.py \w+)"
)


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """One Python function of the program in the kept steps.

    Where the recorder says where functions are defined, installed packages are not functions of
    the program: what a library does (NumPy, a decoder) counts as the self time of the function
    that called it, and what a framework does (dispatching ops) as nobody's.

    Attributes:
        function: Its name.
        file: The file it is in, as recorded.
        line: Its first line.
        calls: How often it was seen.
        self_ps: Σ time in itself and in libraries while nothing computed.
        total_ps: The same with all it calls.
        is_wait: Whether it only waits, as its name says.
    """

    function: str
    file: str
    line: int
    calls: int
    self_ps: int
    total_ps: int
    is_wait: bool


@dataclass(frozen=True, eq=False, slots=True)
class _Names:
    """What each row of ``Space.event_metadata`` is as a Python call."""

    kind: U8
    is_function: Bool
    is_wait: Bool


def python_functions(host: Host) -> tuple[PythonFunction, ...]:
    """By self time; empty where no Python call was recorded."""
    time = host_time(host)
    rows = None if time is None else _rows(host, time)
    if time is None or rows is None:
        return ()
    space = host.space
    start = space.events.start_ps[rows]
    length = space.length_ps[rows]
    idle = covered(time.free_start_ps, time.free_end_ps, start, start + length)
    nesting = nest(start, length, np.asarray([0, len(rows)], dtype=np.int64))
    inner = np.zeros(len(rows), dtype=np.int64)
    np.add.at(inner, nesting.parent[nesting.parent >= 0], idle[nesting.parent >= 0])
    own = np.maximum(idle - inner, 0)
    meta, place = np.unique(space.events.metadata[rows].astype(np.int64), return_inverse=True)
    paths, first = _paths(host), dict[tuple[str, str], int]()
    # Each chunk of a recording has its own entry of a function.
    place = np.asarray(
        [
            first.setdefault((space.event_metadata.name[row], paths.get(row, "")), at)
            for at, row in enumerate(meta.tolist())
        ]
    )[place]
    named = _names(host, meta, paths)
    owner, enclosing = _owners(nesting, place, named)
    self_ps = np.zeros(len(meta), dtype=np.int64)
    np.add.at(self_ps, place[owner[owner >= 0]], own[owner >= 0])
    # A function that calls itself, through others of the program or not, counts once.
    mine = (named.kind[place] == _OWN) & named.is_function[place]
    again = (enclosing >= 0) & (place[np.maximum(enclosing, 0)] == place)
    total_ps = np.zeros(len(meta), dtype=np.int64)
    np.add.at(total_ps, place[mine & ~again], idle[mine & ~again])
    calls = np.bincount(place[mine & (idle > 0)], minlength=len(meta))
    found = [
        _function(space.event_metadata.name[name], int(count), int(alone), int(total), bool(wait))
        for name, count, alone, total, wait in zip(
            meta.tolist(), calls, self_ps, total_ps, named.is_wait, strict=True
        )
        if count
    ]
    return tuple(sorted(found, key=lambda one: (-one.self_ps, one.file, one.line)))


def python_spans(host: Host) -> tuple[I64, I64]:
    """When the step's thread was in a recorded Python call: disjoint and ascending."""
    time = host_time(host)
    rows = None if time is None else _rows(host, time)
    if rows is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    start = host.space.events.start_ps[rows]
    return union_spans(start, start + host.space.length_ps[rows])


def _function(name: str, calls: int, self_ps: int, total_ps: int, is_wait: bool) -> PythonFunction:
    said = _CALL.match(name)
    file, line, function = said.groups() if said is not None else (name[1:], "0", "")
    return PythonFunction(
        function or "", file, whole_number(line) or 0, calls, self_ps, total_ps, is_wait
    )


def _paths(host: Host) -> dict[int, str]:
    """Where the function of an entry is defined, where the recorder says it."""
    source = metadata_stats_by_name(host.space, (names.SOURCE,))[names.SOURCE].texts
    return dict(
        zip(source.rows.tolist(), (source.values[c] for c in source.codes.tolist()), strict=True)
    )


def _names(host: Host, meta: I64, paths: Mapping[int, str]) -> _Names:
    """Kinds by where a function is defined; without that, everything is the program's own."""
    space = host.space
    kind, is_function, is_wait = [], [], []
    for row in meta.tolist():
        said = _CALL.match(space.event_metadata.name[row])
        path = paths.get(row, "")
        file, function = (said.group(1), said.group(3) or "") if said is not None else ("", "")
        installed = _INSTALLED.search(path) is not None
        framework = installed and _FRAMEWORKS.search(path) is not None
        # Without the file's path only names tell whose function it is.
        framework |= not path and _is_framework_function(file, function)
        framework |= is_recorder_frame(space.event_metadata.name[row])
        kind.append(_FRAMEWORK if framework else _LIBRARY if installed else _OWN)
        # A line without a name, or a comprehension, is a part of the function around it.
        named = said.group(3) if said is not None else ""
        is_function.append(bool(named) and _PART.search(named) is None)
        is_wait.append(
            _WAITS.search(function) is not None
            or ((framework or not path) and waits_for_device(file, function))
        )
    return _Names(
        np.asarray(kind, dtype=np.uint8),
        np.asarray(is_function, dtype=bool),
        np.asarray(is_wait, dtype=bool),
    )


def _owners(nesting: Nesting, place: I64, named: _Names) -> tuple[I64, I64]:
    """Per call: whose self time it is, and the program's function around it (-1: nobody's, none).

    One step per depth of the stacks, so there is no loop over calls.
    """
    count = len(place)
    owner, around = np.full(count, -1, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    kind, is_function = named.kind[place], named.is_function[place]
    waits = named.is_wait[place] & (kind == _LIBRARY)
    for depth in range(int(nesting.depth.max(initial=-1)) + 1):
        rows = np.flatnonzero(nesting.depth == depth)
        parent = nesting.parent[rows]
        above = np.where(parent >= 0, owner[np.maximum(parent, 0)], -1)
        is_own = (kind[rows] == _OWN) & is_function[rows]
        passes = ((kind[rows] == _LIBRARY) | ~is_function[rows]) & (kind[rows] != _FRAMEWORK)
        owner[rows] = np.where(is_own, rows, np.where(passes & ~waits[rows], above, -1))
        outer = np.maximum(parent, 0)
        outer_is_own = (kind[outer] == _OWN) & is_function[outer]
        around[rows] = np.where(parent < 0, -1, np.where(outer_is_own, outer, around[outer]))
    return owner, around


def _rows(host: Host, time: HostTime) -> I64 | None:
    """The Python calls of the one line that is the step's thread; None where there are none.

    That is the loop's thread where it has any, else the line with the most time in them.
    """
    space = host.space
    is_call = np.asarray(
        [name.startswith(names.PYTHON_CALL_MARK) for name in space.event_metadata.name] or [False]
    )
    rows = rows_of(space.events.metadata, is_call)
    start = space.events.start_ps[rows]
    end = start + space.length_ps[rows]
    rows = rows[covered(time.start_ps, time.end_ps, start, end) > 0]
    if len(rows) == 0:
        return None
    lines = space.lines_of(rows)
    marked = time.found.markers.thread
    if marked < 0 or not (lines == marked).any():
        spent = np.bincount(lines, weights=space.length_ps[rows])
        marked = int(spent.argmax())
    own: I64 = rows[lines == marked]
    return own


def _is_framework_function(file: str, function: str) -> bool:
    """Whether a framework has a function of this name in a file of this name.

    The tracers of JAX and TensorFlow write ``$array.py:615 _value`` without the folder of the file.
    A program may have an ``api.py`` of its own, so such files count by the functions they have.
    """
    base = _base(file)
    return bool(
        _FILES_OF_JAX.fullmatch(base) or _FRAMEWORK_FUNCTIONS.fullmatch(f"{base} {_leaf(function)}")
    )


def _base(file: str) -> str:
    return re.split(r"[/\\]", file)[-1]


def _leaf(function: str) -> str:
    """Of "Array._value" or "outer.<locals>.inner" the last part."""
    return function.rpartition(".")[2]
