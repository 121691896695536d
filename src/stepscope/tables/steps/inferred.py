"""Steps that nobody marked: rounds of the program's loop, found from what it calls again and again.

Sources are asked in the order of how much a round of them says: compiled functions with the
fetches of input around them, programs that ran on a device, ops dispatched one by one, kernels.
What the others say decides how sure the answer is, not what it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from stepscope.columns import median, rows_of, union_spans
from stepscope.columns.space import I64
from stepscope.quantities import share_words
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.profile import Host
from stepscope.tables.core.recording_gaps import reads_of_results
from stepscope.tables.core.regions import is_of_backward
from stepscope.tables.steps import calls as lists
from stepscope.tables.steps.calls import Calls
from stepscope.tables.steps.cycle import Cycle, find_cycle, is_step_name
from stepscope.tables.steps.found import Certainty, Markers
from stepscope.tables.steps.program_runs import program_runs

# Rounds that make a loop, and that do so by themselves if nothing else is called.
_FEWEST, _ENOUGH = 3, 5
# Share of the calls that must recur in every round for the rounds to be likely.
_MOST, _NEARLY_ALL = 0.6, 0.9
_CONFIDENCE: dict[Certainty, float] = {"certain": 0.95, "likely": 0.7, "uncertain": 0.45}
# Calls that take less than this of what a thread did are not steps: a first call compiles.
_A_PART = 0.02
# Rounds this evenly spaced, and this many, are a loop's.
_EVEN, _EVEN_FROM = 0.15, 10
# Where less of what ran on a device recurs, a kernel's runs are layers of a model, and no steps.
_FEW = 0.4
# A loop's round has every op of its body: where less recurs, an op's runs are layers of a model
# that was called once or twice. Of 168 labelled recordings whose eager ops recur (2026-11-23, the
# part to develop on), 149 of 155 from here on gave the true number of steps, and 9 of 13 below.
_WHOLE = 0.8
# Spacing of rounds of kernels, deviation over mean: above, they are not a loop by themselves.
_UNEVEN = 0.5
# A kernel that runs this share of another's times may run once where that runs twice.
_RARER = 0.6
# A round of more different ops is a training's, which may read its loss after many.
_FEW_OPS: Final = 8
# Shorter rounds of a few single ops are usually the inner loop of a step: 5 to 40 µs on a CPU, 20
# to 100 µs where jit calls the ops.
_SHORT_ROUND_PS: Final = {"op": 100_000_000, "call": 200_000_000, "run": 200_000_000}
# Inner turns that are looked at; a recording of more has outer rounds enough among these.
_MOST_TURNS: Final = 4_000
# A loop that trains, and evaluates every n-th step, has as regular a pattern, and its turns are the
# steps. Without an optimizer it changes weights in place.
_TRAINS: Final = re.compile(
    r"^aten(?:/|::)(?:_foreach_)?(?:add|sub|copy|addcdiv|addcmul|lerp)_(?::|$)"
)


def rounds_of_functions(host: Host) -> Markers | None:
    """Rounds of compiled functions, optimizers and fetches of input."""
    called = lists.function_calls(host)
    if not any(one.kind != "fetch" for one in called):
        return None
    return _function_rounds(host, called)


def _function_rounds(host: Host, called: Sequence[Calls]) -> Markers | None:
    """Rounds of functions, or of the programs that they were compiled to.

    What computes no gradient, and is called more often than all that does, is called within a
    step, or between two: a validation's batches are not steps of a training.
    """
    apart = [one.start_ps for one in called if one.kind == "evaluation"]
    called = [one for one in called if one.kind != "evaluation"]
    trains = [one for one in lists.trained(host, called) if len(one) >= _FEWEST]
    anchors = None
    if trains:
        most = max(map(len, trains))
        anchors = [one for one in called if len(one) <= most or one in trains]
    cycle = find_cycle(called, anchors=anchors)
    cycle = cycle and (_around_reads(host, cycle) or cycle)
    found = None if cycle is None or _is_stray(host, cycle) else _markers(host, cycle, called)
    return found if found is None or not apart else _up_to(found, np.sort(np.concatenate(apart)))


def _around_reads(host: Host, cycle: Cycle) -> Cycle | None:
    """The rounds from one read of a result to the next, where single ops recur in between.

    A loop that dispatches op after op and reads one result in each step calls nothing else once a
    step. A function of the program's is a step by itself, however seldom its result is read, and
    so is a round of many ops.
    """
    kind, name = cycle.anchor.kind, cycle.anchor.name
    is_op = kind == "op" or (kind == "call" and lists.is_single_op(name))
    if not is_op or len(cycle.agreeing) > _FEW_OPS:
        return None
    first = np.unique(np.searchsorted(cycle.start_ps, reads_of_results(host)))
    first = first[first < len(cycle)]
    rounds = np.diff(first)
    if len(first) < _FEWEST:
        return None
    usual = int(median(rounds))
    if usual < 2 or (rounds == usual).mean() < _MOST:
        return None
    last = np.append(first[1:], len(cycle)) - 1
    return replace(
        cycle, start_ps=cycle.start_ps[first], end_ps=cycle.end_ps[last], explained=1.0, every=usual
    )


def _is_stray(host: Host, cycle: Cycle) -> bool:
    """Whether the rounds are a single op's, amid other work: of a loop that still compiles."""
    if len(cycle) < 2 or cycle.explained >= _FEW or not lists.is_single_op(cycle.anchor.name):
        return False
    usual = int(np.sort(np.diff(cycle.start_ps))[(len(cycle) - 2) // 2])
    return usual * len(cycle) < _A_PART * _recorded_ps(host, cycle.anchor.line)


def _up_to(found: Markers, others_ps: I64) -> Markers:
    """The steps, which end at their own last call where an evaluation begins before the next."""
    others = np.searchsorted(others_ps, found.mark_end_ps) < np.searchsorted(
        others_ps, found.end_ps
    )
    end = np.where(others, found.mark_end_ps, found.end_ps)
    told = f" {len(others_ps):,} calls that compute no gradient, as of an evaluation, are none."
    return replace(found, end_ps=end, others_ps=others_ps, explanation=found.explanation + told)


def rounds_on_devices(host: Host) -> Markers | None:
    """Runs of programs on a device that says so itself: the work, not the calls for it."""
    return rounds_of_programs(host) if program_runs(host).on_device.any() else None


def rounds_of_programs(host: Host) -> Markers | None:
    """Runs of compiled programs, where nobody recorded who called them."""
    return _function_rounds(host, lists.runs(host))


def rounds_of_ops(host: Host) -> Markers | None:
    """An eager loop: fetches, optimizers and ops that recur together."""
    found = lists.eager_ops(host)
    if lists.is_making_alone(found):
        return None
    cycle = find_cycle(found, several=1.0)
    if cycle is not None and cycle.explained < _WHOLE:
        # A recording from a program's begin on holds how its model was made.
        found = lists.without_making(found, int(cycle.start_ps[0]))
        cycle = find_cycle(found, several=1.0)
    if cycle is not None:
        cycle = _around_reads(host, cycle) or cycle
    if cycle is not None and cycle.every == 1:
        cycle = _around_layers(cycle, found) or cycle
        cycle = _around_turns(host, cycle, found) or cycle
    if cycle is None or cycle.explained < _WHOLE:
        return None
    return _markers(host, cycle, found)


# Ops that a model has once, before its layers or behind them, and that no epoch or log has.
_ENDS = re.compile(
    r"^aten(?:/|::)(?:embedding|argmax|multinomial|cross_entropy\w*|nll_loss\w*)(?::|$)"
)


def _around_layers(cycle: Cycle, found: Sequence[Calls]) -> Cycle | None:
    """The calls of a model, where the rounds are its layers: each has so many between its ends."""
    ends = []
    for one in found:
        if _ENDS.match(one.name) and _FEWEST <= len(one) < len(cycle):
            between = np.diff(np.searchsorted(cycle.anchor.start_ps, one.start_ps))
            if between.min() == between.max() >= 2:
                ends.append(one)
    outer = find_cycle(found, several=1.0, anchors=ends)
    return outer if outer is not None and outer.explained >= cycle.explained else None


def rounds_of_graphs(host: Host) -> Markers | None:
    """Graphs and fetches of input on threads of TensorFlow's executor, and their kernels.

    Who called them was not recorded. Of kernels of one name the executor tells the rounds.
    """
    own = [*lists.graph_runs(host), *lists.fetches(host, on_pools=True)]
    found = [*own, *lists.kernels(host)]
    cycle = find_cycle(found, several=1.0, anchors=own)
    if cycle is None or len(found) < 2 or cycle.explained < _MOST:
        return None
    return _markers(host, cycle, found)


def rounds_of_kernels(host: Host) -> Markers | None:
    """Kernels that repeat: the launch sequence's period gives the step."""
    if _has_inner_loop(host):
        return None
    found = lists.kernels(host)
    cycle = find_cycle(found, fewest=4, several=1.0)
    if cycle is not None and _scatter(cycle) > _EVEN:
        # Of a kernel that runs several times a round, some lost runs make rounds of their own.
        rarer = [one for one in found if len(one) <= _RARER * len(cycle)]
        even = find_cycle(found, fewest=4, several=1.0, anchors=rarer)
        cycle = even if even is not None and _scatter(even) <= _EVEN else cycle
    if cycle is None or _unevenness(cycle) > _UNEVEN or cycle.explained < _FEW:
        return None
    return _markers(host, cycle, found)


def _has_inner_loop(host: Host) -> bool:
    """Whether the program dispatches ops in rounds that are no steps: their kernels are none."""
    cycle = find_cycle(lists.eager_ops(host), several=1.0)
    return cycle is not None and cycle.explained >= _WHOLE and _is_inner_loop(host, cycle)


def rounds_of_ranges(host: Host) -> Markers | None:
    """Ranges that the program marks, where nothing but ranges was recorded: the outermost loop."""
    for found in lists.ranges(host):
        cycle = find_cycle(found, several=1.0)
        if cycle is None or cycle.anchor.kind != "range" or cycle.explained < _WHOLE:
            continue
        # One name alone recurs whatever it is: a loop's rounds are even, or called so.
        is_alone = len(cycle.agreeing) < 2 and not is_step_name(cycle.anchor.name)
        if len(cycle) >= _FEWEST and not (is_alone and _unevenness(cycle) > _EVEN):
            return _markers(host, cycle, found)
    return None


def single_calls(host: Host) -> Markers | None:
    """One or two calls of a function, where they are a good part of what was recorded: a batch."""
    called = [one for one in lists.function_calls(host) if one.kind == "call"]
    if not called:
        return None
    longest = max(called, key=lambda one: int((one.end_ps - one.start_ps).sum()))
    if len(longest) > 2 or lists.is_single_op(longest.name):
        return None
    if int((longest.end_ps - longest.start_ps).sum()) < _A_PART * _recorded_ps(host, longest.line):
        return None
    count = len(longest)
    what = "1 call" if count == 1 else "2 calls"
    return Markers(
        source="framework",
        confidence=_CONFIDENCE["uncertain"],
        explanation=f"{what} of {longest.name}, taken as {'a step' if count == 1 else 'steps'}: "
        "no other call of it was recorded, so nothing says how much steps differ.",
        num=np.arange(count, dtype=np.int64),
        name=[f"call {index}" for index in range(count)],
        start_ps=longest.start_ps,
        end_ps=longest.end_ps,
        line=longest.line,
        mark_end_ps=longest.end_ps,
        certainty="uncertain",
        reason=f"only {what} of {longest.name} {'was' if count == 1 else 'were'} recorded",
    )


def _recorded_ps(host: Host, line: int) -> int:
    """How long anything was under way on a thread."""
    one, events = host.space.lines[line], host.space.events
    start = events.start_ps[one.begin : one.end]
    length = host.space.length_ps[one.begin : one.end]
    starts, ends = union_spans(start, start + length)
    return int((ends - starts).sum())


def _markers(host: Host, cycle: Cycle | None, called: Sequence[Calls]) -> Markers | None:
    if cycle is None or len(cycle) < 2 or _is_inner_loop(host, cycle):
        return None
    certainty, reason = _certainty(host, cycle, called)
    count = len(cycle)
    end = np.concatenate([cycle.start_ps[1:], cycle.end_ps[-1:]])
    return Markers(
        source="inferred" if cycle.anchor.kind in ("kernel", "op", "range") else "framework",
        confidence=_CONFIDENCE[certainty],
        explanation=f"{count} steps taken from {_describe(cycle)}, start to start; "
        "none was marked.",
        num=np.arange(count, dtype=np.int64),
        name=[f"call {index}" for index in range(count)],
        start_ps=cycle.start_ps,
        end_ps=np.maximum(end, cycle.start_ps),
        line=cycle.anchor.line,
        mark_end_ps=cycle.end_ps,
        certainty=certainty,
        reason=reason,
        is_start_to_start=True,
        is_last_open=True,
    )


def _is_inner_loop(host: Host, cycle: Cycle) -> bool:
    """Whether the rounds are of a few single ops, and compute no gradient.

    A step may run thousands of such rounds, and nothing recorded tells how many.
    """
    if cycle.every > 1 or len(cycle.agreeing) > _FEW_OPS:
        return False
    if any(map(is_of_backward, host.space.event_metadata.name)):
        return False
    are_ops = all(
        kind == "op" or (kind in ("call", "run") and lists.is_single_op(name))
        for kind, name, _often in cycle.agreeing
    )
    short_ps = _SHORT_ROUND_PS.get(cycle.anchor.kind, 0)
    return are_ops and median(np.diff(cycle.start_ps)) < short_ps


_WORDS = {
    "call": "calls of {}",
    "optimizer": "calls of {}",
    "fetch": "fetches of an input batch",
    "op": "runs of the op {}",
    "run": "runs of the program {}",
    "kernel": "runs of the kernel {}",
    "range": "the range {}",
}


def _describe(cycle: Cycle) -> str:
    name = cycle.anchor.name
    if cycle.anchor.kind == "kernel":  # without its templates and arguments
        name = name.partition("<")[0].partition("(")[0] or name
    said = _WORDS[cycle.anchor.kind].format(name)
    return f"every {cycle.every} {said}" if cycle.every > 1 else said


def _certainty(host: Host, cycle: Cycle, called: Sequence[Calls]) -> tuple[Certainty, str]:
    """How sure the rounds are: what agrees with them, and what does not."""
    count = len(cycle)
    if cycle.every > 1:
        return "uncertain", f"each of {_describe(cycle)} may be a step by itself"
    kinds = {kind for kind, _name, often in cycle.agreeing if often == 1}
    against = [
        one
        for one in called
        if one.kind in ("fetch", "optimizer")
        and len(one) > 2
        and not any(kind == one.kind and name == one.name for kind, name, _n in cycle.agreeing)
    ]
    if cycle.anchor.line >= 0:
        kinds |= {one.kind for one in _elsewhere(host) if _divides(count, len(one))}
    if against:
        name = against[0].name if against[0].kind == "optimizer" else "fetches of input"
        return "uncertain", f"{name} do not recur with {_describe(cycle)}"
    if cycle.explained < _MOST:
        return (
            "uncertain",
            f"only {share_words(cycle.explained)} of what was called recurs in every round of "
            f"{_describe(cycle)}",
        )
    if cycle.anchor.kind == "call" and lists.is_single_op(cycle.anchor.name):
        return "uncertain", f"only single ops ({cycle.anchor.name}) recur, {count} times"
    # Runs and kernels are as many for each call, however often a step makes that call.
    several = (
        len(cycle.agreeing) > 1
        or is_step_name(cycle.anchor.name)
        or (count >= _EVEN_FROM and _unevenness(cycle) < _EVEN)
    )
    if around := _around(cycle, called):
        return "uncertain", around
    if several and count >= _FEWEST and len(kinds) > 1:
        return "likely", f"{_listed(kinds)} recur together, {count} times"
    if several and count >= _FEWEST and cycle.explained >= _NEARLY_ALL:
        return "likely", f"everything called recurs with {_describe(cycle)}, {count} times"
    if count >= _ENOUGH and cycle.explained >= _NEARLY_ALL and cycle.anchor.kind == "call":
        return "likely", f"nothing but {cycle.anchor.name} is called, {count} times"
    return "uncertain", f"only {_describe(cycle)} say so, {count} times"


# So many names that recur with several rounds of one function make a round of their own.
_OTHERS = 3


def _around(cycle: Cycle, called: Sequence[Calls]) -> str:
    """What is called once in many rounds, and each time in as many; "" where nothing is.

    A sampler's step calls the gradient 28 times, and draws its numbers once. A function that bears
    the name of a step is one, whatever an epoch calls after so many.
    """
    if is_step_name(cycle.anchor.name) or cycle.anchor.kind != "call":
        return ""
    recurring = {(kind, name) for kind, name, _often in cycle.agreeing}
    rounds: dict[int, list[Calls]] = {}
    for one in called:
        if (one.kind, one.name) not in recurring and _FEWEST <= len(one) < len(cycle):
            inside = np.diff(np.searchsorted(cycle.anchor.start_ps, one.start_ps))
            if inside.min() == inside.max() >= 2:
                rounds.setdefault(int(inside[0]), []).append(one)
    often = max(rounds, key=lambda each: len(rounds[each]), default=0)
    if not often or len(rounds[often]) < _OTHERS:
        return ""
    names = ", ".join(one.name for one in rounds[often][:_OTHERS])
    return f"each {often} {_describe(cycle)} come with one of {names}, which may be the step"


def _elsewhere(host: Host) -> list[Calls]:
    """What runs for the loop on other threads and devices: later than it is called."""
    return [*lists.runs(host), *lists.kernels(host)]


def _divides(count: int, others: int) -> bool:
    """Whether something that ran so often may have run equally often in each round."""
    often = round(others / count)
    return often >= 1 and abs(others - often * count) <= min(often, 0.1 * others)


def _listed(kinds: set[str]) -> str:
    words = {
        "call": "functions",
        "optimizer": "optimizer steps",
        "fetch": "fetches of input",
        "op": "ops",
        "run": "runs of compiled programs",
        "kernel": "kernels",
        "range": "ranges",
        "part": "ranges",
    }
    return " and ".join(sorted(words[kind] for kind in kinds))


def _scatter(cycle: Cycle) -> float:
    """How far most rounds are from the usual length of one, as a share; lost ones aside."""
    gaps = np.diff(cycle.start_ps).astype(np.float64)
    usual = float(np.median(gaps)) if len(gaps) else 0.0
    return float(np.median(np.abs(gaps - usual))) / usual if usual > 0 else np.inf


def _unevenness(cycle: Cycle) -> float:
    gaps = np.diff(cycle.start_ps).astype(np.float64)
    return float(gaps.std() / gaps.mean()) if len(gaps) and gaps.mean() > 0 else np.inf


def _around_turns(host: Host, cycle: Cycle, found: Sequence[Calls]) -> Cycle | None:
    """The outer rounds of a loop; None where its turns are all alike, or alike in no period.

    A sampler's step computes 24 gradients and draws once; a text takes one pass for each of its
    letters. What is called again and again is the inner loop; each n-th of its turns calls
    something else besides, and the whole sequence comes again after n turns.
    """
    if len(cycle) < 2 * _FEWEST or _is_training(host, cycle, found):
        return None
    edges = np.append(cycle.start_ps, np.iinfo(np.int64).max)[: _MOST_TURNS + 1]
    called = np.stack([np.diff(np.searchsorted(one.start_ps, edges)) for one in found], axis=1)
    period = _period(called)
    if period < 2:
        return None
    # What comes between two outer rounds counts for the last turn of the first: it calls most.
    most = int(np.argmax(called[1 : 1 + period].sum(axis=1))) + 1
    first = (most + 1) % period
    start = cycle.start_ps[first::period]
    if len(start) < _FEWEST:
        return None
    last = np.minimum(np.arange(first, len(cycle), period) + period, len(cycle)) - 1
    return replace(cycle, start_ps=start, end_ps=cycle.end_ps[last], explained=1.0, every=period)


def _is_training(host: Host, cycle: Cycle, found: Sequence[Calls]) -> bool:
    """Whether most turns fetch a batch, or change something in place beside making gradients."""
    often = [one for one in found if 2 * len(one) >= len(cycle)]
    if any(one.kind in ("fetch", "optimizer") for one in often):
        return True
    events = host.space.events
    rows = rows_of(events.metadata, entries_shaped(host, is_of_backward))
    if len(rows) == 0:
        return False
    begin, end = union_spans(
        events.start_ps[rows], events.start_ps[rows] + host.space.length_ps[rows]
    )
    changed = [one.start_ps for one in often if _TRAINS.match(one.name)]
    changes = np.concatenate([begin[:0], *changed])
    # Gradients that several ops have are added in place, too.
    at = np.searchsorted(begin, changes, side="right") - 1
    beside = (at < 0) | (changes >= end[np.maximum(at, 0)])
    return bool(2 * beside.sum() >= len(cycle))


def _period(called: I64) -> int:
    """After how many turns the same are called again; 1 where all are alike, 0 where never.

    The first turn may have been cut, and to the last belongs what came after the loop.
    """
    inner = called[1:-1]
    for period in range(1, len(called) // _FEWEST + 1):
        if len(inner) > period and (inner[period:] == inner[:-period]).all():
            return period
    return 0
