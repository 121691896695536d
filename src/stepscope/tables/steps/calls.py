"""What a program calls again and again: its functions, its fetches of input, its ops, kernels.

One list of calls per thread or device, for ``cycle`` to find the rounds of the loop in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from stepscope.columns import distinct, nest, rows_of
from stepscope.columns.space import I64, Bool
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.presence import entries_called, entries_named, entries_starting
from stepscope.tables.core.profile import Host
from stepscope.tables.core.stats import event_stats
from stepscope.tables.device.events import device_entries, device_rows
from stepscope.tables.hlo.modules import programs_with_gradients
from stepscope.tables.host.events import (
    Work,
    host_names,
    host_thread_rows,
    is_pool_thread,
    is_tf_data_thread,
)
from stepscope.tables.host.ops import host_ops
from stepscope.tables.host.tapes import count_within, gradient_starts
from stepscope.tables.steps.program_runs import function_of_module, program_runs

# Functions of arrays that JAX dispatches one by one are jit calls, too; these are NumPy's by name
# (``add``, ``matmul``, ``_where`` …) or XLA's.
_XLA_OPS = frozenset(
    {
        *("argmax", "bitcast_convert_type", "broadcast", "broadcast_in_dim", "concatenate"),
        *("convert_element_type", "copy", "dot_general", "dynamic_slice", "dynamic_update_slice"),
        *("fn", "gather", "integer_pow", "iota", "one_hot", "rem", "scatter", "select_n"),
        *("shift_right_logical", "slice", "split", "stack", "truediv", "unstack"),
        *("clamp", "conv_general_dilated", "erf", "erf_inv", "erfc", "logistic", "pad", "rsqrt"),
        *("sort_key_val", "top_k", "triangular_solve"),
        # What libraries of layers call while they initialise a model, outside of any function.
        *("celu", "elu", "gelu", "glu", "leaky_relu", "log_softmax", "logsumexp", "relu", "relu6"),
        *("selu", "sigmoid", "silu", "softmax", "softplus", "standardize", "swish"),
    }
)
# Functions that JAX keeps for itself and compiles one by one (``_normal``), without the underscore:
# people give such names to steps of their own as well.
_PRIVATE_NAMES = (
    "argmax argmin ball bernoulli binom binomial binomial_inversion broadcast_arrays "
    "categorical cauchy chisquare cho_solve choice cholesky chunk_iter complex_loggamma_scipy "
    "csr_extract csr_to_coo cumsum_with_promotion cumulative_reduction diag dirichlet "
    "double_sided_maxwell eigh eigh_work exponential flip gamma generalized_normal geometric "
    "geomspace gumbel identity in1d intersect1d_size intersect1d_sorted_mask laplace linspace "
    "logistic lognormal logspace lu lu_solve map_coordinates maxwell mean moveaxis "
    "multi_slice multivariate_normal nanargmax nanargmin normal normal_real odeint_wrapper "
    "one_hot orthogonal pad pareto permutation piecewise pinv poisson poisson_knuth "
    "poisson_rejection polar_2d power ptp qr rademacher randint rayleigh resize "
    "rfft_transpose roll_dynamic roll_static roots_no_zeros roots_with_zeros rsf2csf_2d "
    "scaled_matmul schur searchsorted_compare_all_impl searchsorted_scan_impl "
    "searchsorted_sort_impl setxor1d_size shuffle solve solve_triangular sph_harm sqrtm "
    "sqrtm_triu squaring squaring_precise squeeze std svd svd_tall_and_square_input take "
    "triangular truncated_normal uniform unique_sorted_mask unstack var wald weibull_min "
    "where "
)
_PRIVATE = frozenset(_PRIVATE_NAMES.split())
_PRIVATE_BEGIN = ("threefry", "philox", "reduce_")
# Names of NumPy's that people give to functions of their own.
_NO_OPS = frozenset({"test", "gradient", "trace", "info", "save", "load", "average"})
_OP_WEIGHT = 0.3
# PyTorch's ops, as our readers name them ("aten/mm:mm") and as PyTorch itself does.
_ATEN = ("aten/", "aten::")
# Programs of one name that take turns, and the share of the runs that follow the one before.
_MOST_IN_TURN, _IN_TURN_FRAC = 4, 0.9
# How deep a loop's rounds may lie within other ranges.
_MOST_LEVELS = 8
# PjRt's call that starts a program, whatever the runtime's class was called in that version.
_EXECUTES = re.compile(r"Executable::Execute(?:Helper\w*)?(?: \(.*\))?$")


@dataclass(frozen=True, eq=False, slots=True)
class Calls:
    """The calls of one name on one thread (or device), ascending.

    Attributes:
        kind: "call", "evaluation", "fetch", "optimizer", "op", "run", "kernel", "range" or "part"
            of one.
        name: What a person calls it.
        start_ps, end_ps: Of each call.
        time_ps: What they cost: where they only dispatch, the time of what they started.
        weight: How much the name speaks for a round; single ops less than functions of the
            program.
        line: Row of the thread's line, -1 for a device.
    """

    kind: str
    name: str
    start_ps: I64
    end_ps: I64
    time_ps: int
    weight: float
    line: int

    def __len__(self) -> int:
        return len(self.start_ps)


def is_single_op(function: str) -> bool:
    """Whether a jit call of this name dispatches one op of an array library."""
    bare = function.strip("_")
    if bare in _XLA_OPS or bare.startswith(_PRIVATE_BEGIN):
        return True
    if function.startswith("_"):
        return bare in _PRIVATE
    return callable(getattr(np, bare, None)) and bare not in _NO_OPS


def function_calls(host: Host) -> list[Calls]:
    """The compiled functions, optimizers and fetches of input that the program's thread calls."""
    rows = outermost(host, _function_rows(host))
    if len(rows) == 0:
        return []
    line = _main_line(host, rows)
    rows = _that_run(host, rows[host.space.lines_of(rows) == line], line)
    found = _group_by_name(host, rows, "call", line)
    ran = _time_of_runs(host)
    calls = []
    # Where another function tells the round, one that it calls twice is no sign of two.
    is_only = sum(not is_single_op(bare_name(one.name)) for one in found) == 1
    for one in found:
        bare = bare_name(one.name)
        kind = "optimizer" if one.name.startswith(names.PYTORCH_OPTIMIZER) else "call"
        weight = _OP_WEIGHT if is_single_op(bare) else 1.0
        time = max(one.time_ps, ran.get(bare.strip("<>"), 0))
        named = Calls(kind, bare, one.start_ps, one.end_ps, time, weight, line)
        for part in _apart_by_gradient(host, named) if kind == "call" else [named]:
            may_part = is_only and not is_single_op(bare)
            calls += _apart_by_program(host, part) if may_part else [part]
    return calls + fetches(host)


def _apart_by_program(host: Host, calls: Calls) -> list[Calls]:
    """The calls, parted where programs of one name take turns: a GAN's two lambdas.

    Programs of one function, compiled for each shape, come in no such order.
    """
    found = program_runs(host)
    own = np.asarray([name == calls.name.strip("<>") for name in found.names] or [False])
    rows = np.flatnonzero(own[found.name])
    # Runs are in the order of their calls, each after its own.
    turn = np.arange(len(calls))
    first = np.searchsorted(found.start_ps[rows], calls.start_ps)
    run = np.maximum.accumulate(first - turn) + turn
    start, end = (at[run < len(rows)] for at in (calls.start_ps, calls.end_ps))
    programs, code = np.unique(found.program[rows[run[run < len(rows)]]], return_inverse=True)
    if not 1 < len(programs) <= _MOST_IN_TURN:
        return [calls]
    following = np.zeros((len(programs), len(programs)), dtype=np.int64)
    np.add.at(following, (code[:-1], code[1:]), 1)
    after = following.argmax(axis=1)
    if len(distinct(after)) < len(programs) or (after == np.arange(len(programs))).any():
        return [calls]
    if following.max(axis=1).sum() < _IN_TURN_FRAC * following.sum():
        return [calls]
    parts = [(start[code == one], end[code == one]) for one in range(len(programs))]
    time_ps = calls.time_ps // len(parts)
    return [replace(calls, start_ps=a, end_ps=b, time_ps=time_ps) for a, b in parts]


def _apart_by_gradient(host: Host, calls: Calls) -> list[Calls]:
    """The calls, and as "evaluation" those that run another function, which has no gradient.

    Keras calls its compiled functions to train, to evaluate and to predict by one name.
    """
    gradients = gradient_starts(host)
    if not len(gradients):
        return [calls]
    space = host.space
    rows = rows_of(
        space.events.metadata,
        entries_starting(host, *names.EAGER_FUNCTIONS),
    )
    rows = rows[space.lines_of(rows) == calls.line]
    at = np.searchsorted(calls.start_ps, space.events.start_ps[rows], side="right") - 1
    inside = (at >= 0) & (space.events.start_ps[rows] < calls.end_ps[np.maximum(at, 0)])
    function = np.full(len(calls), -1, dtype=np.int64)
    function[at[inside]] = space.events.metadata[rows[inside]]
    trains = [
        one
        for one in distinct(function).tolist()
        if count_within(gradients, calls.start_ps[function == one], calls.end_ps[function == one])
    ]
    own = np.isin(function, trains)
    if not own.any() or own.all():
        return [calls]

    def some(kind: str, chosen: Bool) -> Calls:
        begin, end = calls.start_ps[chosen], calls.end_ps[chosen]
        return replace(
            calls, kind=kind, start_ps=begin, end_ps=end, time_ps=int((end - begin).sum())
        )

    return [some("call", own), some("evaluation", ~own)]


def _that_run(host: Host, rows: I64, line: int) -> I64:
    """Of one line's calls those that start a program.

    While a function is traced, jitted functions that it calls are called too, and compute nothing.
    """
    space = host.space
    jitted = entries_starting(host, names.PJIT_FUNCTION)
    is_jit = jitted[space.events.metadata[rows]]
    started = rows_of(space.events.metadata, _executes(host))
    started = np.sort(space.events.start_ps[started[space.lines_of(started) == line]])
    begin, end = space.events.start_ps[rows], space.events.start_ps[rows] + space.length_ps[rows]
    runs = np.searchsorted(started, end) > np.searchsorted(started, begin)
    return rows[~is_jit | runs] if (is_jit & runs).any() else rows


def program_launches(host: Host) -> I64:
    """When the program's thread handed a compiled program to XLA's runtime, in order."""
    space = host.space
    rows = _keep_program_threads(host, rows_of(space.events.metadata, _executes(host)))
    return np.sort(space.events.start_ps[outermost(host, rows)])


def bare_name(name: str) -> str:
    """Of "PjitFunction(step)" and "EagerLocalExecute: __inference_step_12" the function."""
    if name.startswith(names.PJIT_FUNCTION):
        return name[len(names.PJIT_FUNCTION) : -1]
    return name.removeprefix(names.EAGER_LOCAL_EXECUTE)


def fetches(host: Host, *, on_pools: bool = False) -> list[Calls]:
    """Fetches of an input batch, of the thread that makes most of them; one list or none.

    Args:
        host: Whose.
        on_pools: Whether threads of the runtime's pools count: a graph may fetch its own input.
    """
    space, work = host.space, host_names(host)
    rows = rows_of(space.events.metadata, work.is_input)
    keep = [
        row
        for row in host_thread_rows(host).tolist()
        if not is_tf_data_thread(space.lines[row].name)
        and (on_pools or not is_pool_thread(space.lines[row].name))
    ]
    rows = rows[np.isin(space.lines_of(rows), np.asarray(keep, dtype=np.int32))]
    if len(rows) == 0:
        return []
    line = int(np.bincount(space.lines_of(rows)).argmax())
    rows = outermost(host, rows[space.lines_of(rows) == line])
    rows = rows[np.argsort(space.events.start_ps[rows], kind="stable")]  # files need no order
    start = space.events.start_ps[rows]
    length = space.length_ps[rows]
    return [Calls("fetch", "input batch", start, start + length, int(length.sum()), 1.0, line)]


def graph_runs(host: Host) -> list[Calls]:
    """Runs of TensorFlow's graphs by its executor, whatever called them; one list or none."""
    space = host.space
    entries = entries_called(host, (names.RUNS_GRAPH,))
    rows = outermost(host, rows_of(space.events.metadata, entries))
    if len(rows) == 0:
        return []
    line = _main_line(host, rows)
    rows = rows[np.argsort(space.events.start_ps[rows], kind="stable")]
    start, length = space.events.start_ps[rows], space.length_ps[rows]
    time = int(length.sum())
    return [Calls("call", names.RUNS_GRAPH, start, start + length, time, 1.0, line)]


def trained(host: Host, calls: Sequence[Calls]) -> list[Calls]:
    """Those of functions, or of their runs, that compute gradients, where that is known.

    JAX says it in the programs, TensorFlow in the names of ops that run meanwhile.
    """
    programs = {_module_stem(function_of_module(one)) for one in programs_with_gradients(host)}
    gradients = gradient_starts(host)
    return [
        one
        for one in calls
        if one.kind in ("call", "run")
        and (
            _module_stem(one.name) in programs or count_within(gradients, one.start_ps, one.end_ps)
        )
    ]


def _module_stem(function: str) -> str:
    """What a module's name keeps of its function's: "lambda" of "<lambda>", "fit" of "_fit"."""
    return re.sub(r"\W", "_", function).strip("_")


def eager_ops(host: Host) -> list[Calls]:
    """Ops that the program's thread dispatches one by one, and its fetches of input."""
    space = host.space

    def is_op(name: str) -> bool:
        return name.startswith((names.EAGER_LOCAL_EXECUTE, *_ATEN, *names.PYTORCH_OPTIMIZER))

    rows = _keep_program_threads(host, rows_of(space.events.metadata, entries_named(host, is_op)))
    rows = outermost(host, rows)
    if len(rows) == 0:
        return fetches(host)
    line = _main_line(host, rows)
    rows = rows[space.lines_of(rows) == line]
    return _group_by_name(host, rows, "op", line) + fetches(host)


# Ops that make tensors, fill them and move a model: of the program's begin, where it has its loop
# behind them. Those of a model's layers are none of them.
_MAKES = re.compile(
    r"^aten(?:/|::)(?:empty\w*|zeros\w*|ones\w*|full\w*|rand\w*|normal\w*|uniform_|random_|fill_|"
    r"zero_|eye|arange|linspace|to|detach|clone|_has_compatible_shallow_copy_type|"
    r"erfinv_|clamp_|mul_|add_|qr|sign|diag|triu|tril|copy_)(?::\w+)?$"
)


# Those that fill weights: no loop of a program calls only them.
_FILLS = re.compile(r"^aten(?:/|::)(?:uniform_|normal_|erfinv_|qr)(?::\w+)?$")


def is_making_alone(calls: list[Calls]) -> bool:
    """Whether nothing but a model was made: its layers are no rounds of a loop."""
    are_made = all(_MAKES.match(one.name) is not None for one in calls)
    return are_made and any(_FILLS.match(one.name) is not None for one in calls)


def without_making(calls: list[Calls], before_ps: int) -> list[Calls]:
    """The calls less those that made the model, before its loop began."""
    kept = []
    for one in calls:
        begins = int(np.searchsorted(one.start_ps, before_ps)) if _MAKES.match(one.name) else 0
        if begins < len(one):
            start, end = one.start_ps[begins:], one.end_ps[begins:]
            kept.append(replace(one, start_ps=start, end_ps=end, time_ps=int((end - start).sum())))
    return kept


def ranges(host: Host) -> Iterator[list[Calls]]:
    """Ranges of the thread on which most of their time is, the outermost first, then those within.

    Each list has what is directly within these as well, which recurs with them in a loop. None
    where ops or devices were recorded: what these do again and again tells more; and none of what
    the frameworks' own profilers recorded, whose ranges are the runtime's.
    """
    space, rows = host.space, host_thread_rows(host)
    is_own = names.PROGRAM_RANGES in space.stat_metadata.name
    if not is_own or len(rows) == 0 or len(host_ops(host).rows) or len(device_rows(host)):
        return
    lines = [space.lines[row] for row in rows.tolist()]
    every = np.concatenate([np.arange(one.begin, one.end, dtype=np.int64) for one in lines])
    every = _keep_program_threads(host, every[space.length_ps[every] > 0])
    if len(every) == 0:
        return
    line = _main_line(host, every)
    every = every[space.lines_of(every) == line]
    start, length = space.events.start_ps[every], space.length_ps[every]
    depth = nest(start, length, np.asarray([0, len(every)], dtype=np.int64)).depth
    for level in range(min(int(depth.max()) + 1, _MOST_LEVELS)):
        outer = _group_by_name(host, every[depth == level], "range", line)
        inner = _group_by_name(host, every[depth == level + 1], "part", line)
        yield outer + [replace(one, weight=_OP_WEIGHT) for one in inner]


def runs(host: Host) -> list[Calls]:
    """Executions of compiled programs, by function."""
    found = program_runs(host)
    result = []
    for code in distinct(found.name).tolist():
        own = found.name == code
        start, end = found.start_ps[own], found.end_ps[own]
        name = found.names[code]
        weight = _OP_WEIGHT if is_single_op(name) else 1.0
        result.append(Calls("run", name, start, end, int((end - start).sum()), weight, -1))
    return result


def kernels(host: Host) -> list[Calls]:
    """Kernels of the device that runs most of them, by name."""
    space, rows = host.space, device_rows(host)
    if len(rows) == 0:
        return []
    computes = device_entries(host, lambda work: work >= Work.COMPUTE_32)
    rows = rows[computes[space.events.metadata[rows]]]
    if len(rows) == 0:
        return []
    plane = np.asarray([line.plane for line in space.lines], dtype=np.int64)
    device = plane[space.lines_of(rows)]
    return _group_by_name(host, rows[device == np.bincount(device).argmax()], "kernel", -1)


def _function_rows(host: Host) -> I64:
    """Rows that call a compiled function, as far as the recorder tells them from ops."""
    space, stats = host.space, event_stats(host)
    is_func = stats.ints(names.IS_FUNC)

    def is_call(name: str) -> bool:
        return name.startswith(
            (names.PJIT_FUNCTION, *names.EAGER_FUNCTIONS, *names.PYTORCH_OPTIMIZER)
        )

    named = rows_of(space.events.metadata, entries_named(host, is_call))
    traced = stats.rows(names.TF_FUNCTION_CALL)
    rows = distinct(np.concatenate((named, traced)))
    if len(rows) == 0:
        rows = is_func.rows[is_func.values > 0]
    if len(rows) == 0:
        # Programs of other languages call PjRt themselves.
        rows = rows_of(space.events.metadata, _executes(host))
    return _keep_program_threads(host, rows)


def _executes(host: Host) -> Bool:
    return entries_named(host, lambda name: _EXECUTES.search(name) is not None)


def _keep_program_threads(host: Host, rows: I64) -> I64:
    """Those on threads of the program, less the runtimes' pools where others have any."""
    space = host.space
    rows = rows[np.isin(space.lines_of(rows), host_thread_rows(host))]
    pool = [is_pool_thread(one.name) or is_tf_data_thread(one.name) for one in space.lines]
    own: I64 = rows[~np.asarray(pool or [False], dtype=bool)[space.lines_of(rows)]]
    return own if len(own) else rows


def _main_line(host: Host, rows: I64) -> int:
    """The line on which most of the rows' time is."""
    lines = host.space.lines_of(rows)
    time = np.bincount(lines, weights=host.space.length_ps[rows].astype(np.float64) + 1.0)
    return int(time.argmax())


def outermost(host: Host, rows: I64) -> I64:
    """Of ascending rows those that no other of them encloses on the same line."""
    if len(rows) < 2:
        return rows
    events = host.space.events
    begin = np.searchsorted(rows, host.space.line_begin).astype(np.int64)
    depth = nest(events.start_ps[rows], host.space.length_ps[rows], begin).depth
    outer: I64 = rows[depth == 0]
    return outer


def _group_by_name(host: Host, rows: I64, kind: str, line: int) -> list[Calls]:
    """One list per name; planes may give equal names different rows of metadata."""
    space = host.space
    meta, code = np.unique(space.events.metadata[rows], return_inverse=True)
    texts = [space.event_metadata.name[one] for one in meta.tolist()]
    distinct = {text: index for index, text in enumerate(dict.fromkeys(texts))}
    group = np.asarray([distinct[text] for text in texts] or [0], dtype=np.int64)[code]
    order = np.lexsort((space.events.start_ps[rows], group))
    rows, group = rows[order], group[order]
    cuts = np.flatnonzero(np.diff(group)) + 1
    found = []
    for own, text in zip(np.split(rows, cuts), distinct, strict=False):
        if len(own) == 0:
            continue
        start, length = space.events.start_ps[own], space.length_ps[own]
        found.append(Calls(kind, text, start, start + length, int(length.sum()), 1.0, line))
    return found


def _time_of_runs(host: Host) -> dict[str, int]:
    found = program_runs(host)
    length = found.end_ps - found.start_ps
    time: dict[str, int] = {}
    for code, name in enumerate(found.names):
        time[name] = int(length[found.name == code].sum())
    return time
