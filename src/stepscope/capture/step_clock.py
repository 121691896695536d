"""Where steps begin, and how long they take, as markers and hooks of frameworks hear of them.

A recorded step carries the cost of recording. While ``stepscope record`` rests between two
sessions, the same places that mark steps in a recording report them here instead: annotations with
``_r``, optimizers' steps, calls of compiled functions, batches of data loaders. Sessions begin and
end where these report a step, so that each holds whole ones: the program waits there until the
session has begun. JAX calls compiled functions without Python: there the program's reads of its
results at one line take the place of steps.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from statistics import median
from types import FrameType
from typing import Any, Final

from stepscope.capture import tracing
from stepscope.capture.budget import UNDISTURBED_SECONDS, UNDISTURBED_STEPS
from stepscope.capture.tracing import Emitter
from stepscope.records import dataclass
from stepscope.schema import names

#: What steps are known by, the surest first.
MARKER: Final = "step markers"
OPTIMIZER: Final = "optimizer steps"
BACKWARD: Final = "backward passes"
FUNCTION: Final = "calls of a compiled function"
BATCH: Final = "batches of a data loader"
# A program may read several results in a step, or those of many: they are compared, not counted.
READ: Final = "reads of results"
_SOURCES: Final = (MARKER, OPTIMIZER, BACKWARD, FUNCTION, BATCH, READ)
# Regular reads recur with the loop: usual intervals are this share of the time. Those of several
# results in a row are short ones, and a long one.
_REGULAR_FRAC: Final = 0.25
_MAX_READS: Final = 10_000
_FIRST_STEPS: Final = 200

# Places of the loop have at least this share of the time of the one that has most.
_LOOP_FRAC: Final = 0.5

# Source, and which optimizer, function or name of a marker.
_Key = tuple[str, object]

# How long the next step is waited for, in steps, and at least.
_WAIT_STEPS, _WAIT_SECONDS = 3.0, 0.1
# After some steps a loop may validate: as long as it did before it is waited for, but not longer.
_PAUSE_SECONDS: Final = 2.0
# Reads may be many steps apart: they are waited for no longer than this.
_READ_WAIT_SECONDS: Final = 0.5
# The program waits no longer than this for a session to begin.
_HOLD_SECONDS, _HOLD_SLICE_SECONDS = 2.0, 0.0005


@dataclass(slots=True)
class _Stretch:
    """A time without interruption: when steps began, and how long those with an end took.

    Attributes:
        began_ns: By the place that reported them.
        lengths_ns: The same for markers, which have an end.
        read_ns: When each line of the program had read a result; the first reads of it.
    """

    began_ns: dict[_Key, list[int]]
    lengths_ns: dict[_Key, list[int]]
    read_ns: dict[_Key, list[int]]

    def steps_ns(self) -> dict[_Key, list[int]]:
        """How long steps took: as marked, else from one begin to the next."""
        return _between(self.began_ns) | dict(list(self.lengths_ns.items()))

    def reads_ns(self) -> dict[_Key, list[int]]:
        """The times from one read of a result to the next, by the line that reads."""
        return _between(self.read_ns)

    def count(self) -> tuple[int, int]:
        """Steps of the place that had most, and the nanoseconds of all or of the first of them."""
        counts = [
            (len(began) - 1, began[-1] - began[0])
            for began in list(self.began_ns.values())
            if began
        ]
        counts += [
            (len(lengths), sum(lengths[:UNDISTURBED_STEPS]))
            for lengths in list(self.lengths_ns.values())
        ]
        return max(counts, default=(0, 0))


def _between(moments_ns: dict[_Key, list[int]]) -> dict[_Key, list[int]]:
    return {
        key: [after - before for before, after in itertools.pairwise(moments)]
        for key, moments in list(moments_ns.items())
    }


@dataclass(slots=True)
class _Awaited:
    """The next step of the program's loop, where a session is to begin or end.

    Attributes:
        key: Where that step is reported.
        holds: Whether the program waits there until ``is_over``.
        wake: Called once it is reached.
        until: When to stop waiting for it (``time.monotonic``).
    """

    key: _Key
    holds: bool
    wake: Callable[[], object]
    until: float
    is_reached: bool = False
    is_over: bool = False

    def reach(self) -> None:
        """The program is there."""
        self.is_reached = True
        self.wake()
        until = time.monotonic() + _HOLD_SECONDS
        # In slices: between them the main thread does what recorders ask it to do.
        while self.holds and not self.is_over:
            self.holds = time.monotonic() < until
            time.sleep(_HOLD_SLICE_SECONDS)


# Where hooks report to, and which report is awaited; None while no recording asks.
_listening: _Stretch | None = None
_awaited: _Awaited | None = None
#: Called for each step: source, which, begin and end (``time.perf_counter_ns()``). Without a marker
#: there is no begin (0), and the end is when the hook was called.
Follower = Callable[[str, object, int, int], None]
_followers: tuple[Follower, ...] = ()


def follow(follower: Follower) -> None:
    """Call a follower for each step from now on, on the program's threads."""
    global _followers
    _followers = (*_followers, follower)


def unfollow(follower: Follower) -> None:
    """End that."""
    global _followers
    _followers = tuple(one for one in _followers if one != follower)


def hear(source: str, which: object = 0) -> None:
    """A step begins, or ends, always at the same place of the program's loop; from any thread."""
    stretch, followers = _listening, _followers
    if stretch is None and not followers:
        return
    now_ns = time.perf_counter_ns()
    if stretch is not None:
        stretch.began_ns[source, which].append(now_ns)
    for follower in followers:
        follower(source, which, 0, now_ns)
    if _awaited is not None and _reaches((source, which)):
        # The session that has begun meanwhile begins with this step.
        after = _listening
        if after is not None and after is not stretch:
            after.began_ns[source, which].append(time.perf_counter_ns())


def hear_result(library: str) -> None:
    """The program has waited for a result of its device; from any thread.

    Args:
        library: Folder of the framework. The innermost line outside of it tells reads apart.
    """
    stretch = _listening
    if stretch is None:
        return
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(library):
        frame = frame.f_back
    if frame is not None:
        key = READ, (id(frame.f_code), frame.f_lasti)
        reads = stretch.read_ns[key]
        if len(reads) < _MAX_READS:
            reads.append(time.perf_counter_ns())
        _reaches(key)


def _reaches(key: _Key) -> bool:
    """Whether this was the awaited step; the program has waited then."""
    global _awaited
    awaited = _awaited
    if awaited is None or awaited.key != key:
        return False
    _awaited = None
    awaited.reach()
    return True


def is_surer(source: str, other: str) -> bool:
    """Whether one source of steps is surer than another; any is than none ("")."""
    return not other or _SOURCES.index(source) < _SOURCES.index(other)


# How long the program has waited for input, as hooks of loaders measured.
_input_wait_ns = 0


def waited_for_input(begin_ns: int) -> None:
    """The program has its batch; it asked for it at this time (``time.perf_counter_ns()``)."""
    global _input_wait_ns
    _input_wait_ns += time.perf_counter_ns() - begin_ns


def input_wait_ns() -> int:
    """How long the program has waited for input so far."""
    return _input_wait_ns


def marker_emitter() -> Emitter:
    """Where annotations go while nothing records: markers of steps are timed."""
    return counted(None)


def _marked(name: str, begin_ns: int, end_ns: int) -> None:
    """A marked step has ended."""
    stretch = _listening
    if stretch is not None:
        stretch.lengths_ns[MARKER, name].append(end_ns - begin_ns)
    for follower in _followers:
        follower(MARKER, name, begin_ns, end_ns)


class SurestSteps:
    """Tells the steps of the surest place that reports any, with the arguments of a follower."""

    def __init__(self) -> None:
        self.source = ""
        self._which: object = object()
        self._last_ns = 0

    def is_new_place(self, source: str, which: object) -> bool:
        """Whether this report is of a surer place: earlier reports were of the same steps."""
        if source == self.source or not is_surer(source, self.source):
            return False
        self.source, self._which, self._last_ns = source, which, 0
        return True

    def begin_ns(self, source: str, which: object, begin_ns: int, end_ns: int) -> int:
        """When the step began; 0 for a report of another place, and for a first one without."""
        if source != self.source or (which != self._which and begin_ns == 0):
            return 0
        begin_ns, self._last_ns = begin_ns or self._last_ns, end_ns
        return begin_ns


class FirstSteps:
    """The first steps of a program, from the surest place that reports them."""

    def __init__(self) -> None:
        self._ends: defaultdict[_Key, list[tuple[int, int]]] = defaultdict(list)

    def add(self, source: str, which: object, begin_ns: int, end_ns: int) -> None:
        """Add a step, with the arguments of a follower."""
        heard = self._ends[source, which]
        if len(heard) < _FIRST_STEPS:
            heard.append((begin_ns, end_ns))

    def surest(self) -> tuple[str, list[tuple[int, int]]]:
        """The source, and begin and end of each of its steps; the first may have no begin."""
        # A list may grow meanwhile: a copy is taken in one go.
        known = [(key, list(heard)) for key, heard in list(self._ends.items())]
        known = [(key, heard) for key, heard in known if len(heard) > 1 or key[0] == MARKER]
        if not known:
            return "", []
        (source, _), heard = min(
            known, key=lambda one: (_SOURCES.index(one[0][0]), -len(one[1]), one[1][0][1])
        )
        if source == MARKER:
            return source, heard
        ends = [end for _, end in heard]
        steps = list(itertools.pairwise(ends))
        # An optimizer's step ends the first step, whose begin nobody has heard.
        return source, [(ends[0], ends[0]), *steps] if source == OPTIMIZER else steps


class StepClock:
    """Times steps of one recording, undisturbed and recorded ones apart."""

    def __init__(self) -> None:
        self._undisturbed: defaultdict[_Key, list[int]] = defaultdict(list)
        self._recorded: defaultdict[_Key, list[int]] = defaultdict(list)
        self._into = self._recorded
        self._awaited: _Awaited | None = None
        self.recorded_steps = 0
        self._read_ns: defaultdict[_Key, list[int]] = defaultdict(list)
        self._passed: Counter[_Key] = Counter()
        self._passed_ns: dict[_Key, int] = {}
        self._longest_ns: Counter[_Key] = Counter()

    def begin(self) -> None:
        """Count every step from now on, whether anything is recorded meanwhile or not."""
        follow(self._pass)

    def end(self) -> None:
        """End that, and the stretch."""
        self.pause()
        self.release()
        unfollow(self._pass)

    def _pass(self, source: str, which: object, _begin_ns: int, end_ns: int) -> None:
        key = source, which
        self._passed[key] += 1
        apart_ns = end_ns - self._passed_ns.get(key, end_ns)
        self._longest_ns[key] = max(self._longest_ns[key], apart_ns)
        self._passed_ns[key] = end_ns

    def unrecorded_steps(self) -> int:
        """The steps that ran, if the recording has no whole one; else 0."""
        return 0 if self.recorded_steps else max(self._passed.values(), default=0)

    def unrecorded_loop(self) -> int:
        """The steps of another loop, of which none was recorded; 0 if it had fewer than that."""
        recorded = {
            key: len(lengths)
            for key, lengths in self._recorded.items()
            if lengths and key[0] != READ
        }
        # Steps of one loop are heard of in several ways: its batches by a new loader in each epoch.
        surest = min((source for source, _which in recorded), key=_SOURCES.index, default="")
        if surest == BATCH:
            return 0
        others = [
            steps for key, steps in self._passed.items() if key[0] == surest and key not in recorded
        ]
        longest = max(others, default=0)
        return longest if longest > max(recorded.values(), default=0) else 0

    def listen(self, *, undisturbed: bool) -> None:
        """A stretch begins: of undisturbed steps, or of recorded ones."""
        global _listening
        self.pause()
        self._into = self._undisturbed if undisturbed else self._recorded
        _listening = _Stretch(defaultdict(list), defaultdict(list), defaultdict(list))
        self.release()

    def is_at_step(self, *, holds: bool, wake: Callable[[], object]) -> bool:
        """Whether a step of the program's loop has begun since this was asked first.

        True as well if none begins in time, and at once if neither a loop nor a read of results is
        known.

        Args:
            holds: Whether the program waits there for ``listen`` or ``release``.
            wake: Called there, on the program's thread.
        """
        global _awaited
        if self._awaited is None:
            place = self._next_place()
            if place is None:
                return True
            key, seconds = place
            self._awaited = _Awaited(key, holds, wake, time.monotonic() + seconds)
            _awaited = self._awaited
        return self._awaited.is_reached or time.monotonic() > self._awaited.until

    def _next_place(self) -> tuple[_Key, float] | None:
        """Where a session may begin or end, and how long to wait for it in seconds."""
        loop = self._loop()
        if loop is None:
            return None
        key, lengths_ns = loop
        seconds = _WAIT_SECONDS + _WAIT_STEPS * median(lengths_ns) / 1e9
        longest = _WAIT_SECONDS + self._longest_ns[key] / 1e9
        seconds = max(seconds, min(longest, _PAUSE_SECONDS))
        return key, min(seconds, _READ_WAIT_SECONDS) if key[0] == READ else seconds

    @property
    def is_awaiting(self) -> bool:
        """Whether a step is awaited, or was reached and nothing has begun there yet."""
        return self._awaited is not None

    def is_reached(self, source: str) -> bool:
        """Whether the awaited step has begun and is known by this source."""
        awaited = self._awaited
        return awaited is not None and awaited.is_reached and awaited.key[0] == source

    def begins_at(self, source: str) -> bool:
        """Whether the program waits at the begin of a step that is known by this source."""
        return self._awaited is not None and self._awaited.holds and self.is_reached(source)

    def release(self) -> None:
        """Let the program go on, and await no step."""
        global _awaited
        awaited, self._awaited = self._awaited, None
        if awaited is not None:
            _awaited = None
            awaited.is_over = True

    def _loop(self) -> tuple[_Key, list[int]] | None:
        """Where the loop's steps are reported, and their lengths; None if none is known."""
        stretch = _listening
        heard = {} if stretch is None else stretch.reads_ns() | stretch.steps_ns()
        known = {key: lengths for key, lengths in heard.items() if lengths}
        if all(source == READ for source, _which in known):
            for key in {**self._recorded, **self._undisturbed}:
                before = [*self._recorded.get(key, ()), *self._undisturbed.get(key, ())]
                known.setdefault(key, before)
        known = {key: lengths for key, lengths in known.items() if lengths}
        return self._of_the_loop(list(known.items())) if known else None

    def pause(self) -> None:
        """The stretch ends; what runs until the next one is neither."""
        global _listening
        stretch, _listening = _listening, None
        if stretch is None:
            return
        steps = stretch.steps_ns()
        for key, lengths in (steps | stretch.reads_ns()).items():
            self._into[key] += lengths
        if self._into is self._recorded:
            for key, moments in stretch.read_ns.items():
                self._read_ns[key] += moments[: _MAX_READS - len(self._read_ns[key])]
            self.recorded_steps += max(map(len, steps.values()), default=0)

    def steps_so_far(self) -> int:
        """Recorded steps, those of this stretch included."""
        return self.recorded_steps + self.heard()[0]

    def session_steps(self) -> int | None:
        """Whole steps of this stretch so far; None if steps were never heard of."""
        steps = self.heard()[0]
        known = (*self._recorded, *self._undisturbed)
        return steps if steps or any(source != READ for source, _which in known) else None

    def passed(self) -> int | None:
        """The same, else reads of results at the line that has most; None if neither is known."""
        steps, stretch = self.session_steps(), _listening
        if steps or stretch is None:
            return steps
        return max(map(len, list(stretch.read_ns.values())), default=None) or steps

    def heard(self) -> tuple[int, float]:
        """Steps of this stretch so far, and the seconds they took, or the first of them."""
        stretch = _listening
        steps, length_ns = (0, 0) if stretch is None else stretch.count()
        return steps, length_ns / 1e9

    def reads_ns(self) -> list[int]:
        """When a line that recurs with the loop read its result while recording, since 1970."""
        known = [
            (key, lengths)
            for key, lengths in self._recorded.items()
            if key[0] == READ and lengths and _is_regular(lengths)
        ]
        if not known:
            return []
        shift_ns = time.time_ns() - time.perf_counter_ns()
        return [moment + shift_ns for moment in self._read_ns[self._of_the_loop(known)[0]]]

    def recorder_frac(self) -> float | None:
        """Share of a recorded step that recording takes; None if too few steps were heard of."""
        facts = self.facts()
        recorded, undisturbed = facts.get(names.RECORDED_STEP), facts.get(names.UNDISTURBED_STEP)
        if not isinstance(recorded, int) or not isinstance(undisturbed, int) or recorded <= 0:
            return None
        return max(1 - undisturbed / recorded, 0.0)

    def facts(self) -> dict[str, int | str]:
        """What the recording states; {} where too few steps were heard of."""
        recorded_at = {key for key, lengths in self._recorded.items() if lengths}
        compared = {source for source, _which in recorded_at}
        known = [
            (key, lengths)
            for key, lengths in self._undisturbed.items()
            if (len(lengths) >= UNDISTURBED_STEPS or sum(lengths) >= UNDISTURBED_SECONDS * 1e9)
            # A function that only rests heard of, such as an evaluation's, is not the loop's.
            and (key in recorded_at or key[0] not in compared)
            and (key[0] != READ or (key in recorded_at and _is_regular(lengths)))
        ]
        if not known:
            return {}
        (source, which), lengths = self._of_the_loop(known)
        facts: dict[str, int | str] = {
            names.UNDISTURBED_STEP: int(median(lengths)) * 1000,
            names.UNDISTURBED_STEPS: len(lengths),
            names.UNDISTURBED_SOURCE: source,
        }
        recorded = self._recorded.get((source, which))
        if recorded:
            facts[names.RECORDED_STEP] = int(median(recorded)) * 1000
        return facts

    def _of_the_loop(self, known: list[tuple[_Key, list[int]]]) -> tuple[_Key, list[int]]:
        """The place whose steps are the loop's: of the surest source, and of most of the time.

        An evaluation calls a function of its own as regularly as the training calls the other.
        """
        surest = min(_SOURCES.index(source) for (source, _which), _lengths in known)
        places = [one for one in known if _SOURCES.index(one[0][0]) == surest]
        most = max(_usual_ns(lengths) for _key, lengths in places)
        places = [one for one in places if _usual_ns(one[1]) >= _LOOP_FRAC * most]
        return min(places, key=lambda one: _spread(one[1]))


def counted(emit: Emitter | None) -> Emitter:
    """An emitter that reports markers of steps here, and passes on all annotations.

    Args:
        emit: Where annotations are recorded; None while nothing records.
    """

    def emit_and_count(name: str, metadata: Mapping[str, Any]) -> Callable[[], object]:
        if names.ROOT_LEVEL not in metadata:
            return int if emit is None else emit(name, metadata)
        before = tracing.emitter()
        if _reaches((MARKER, name)):
            after = tracing.emitter()
            if after is not None and after is not before:
                return after(name, metadata)
        end = int if emit is None else emit(name, metadata)
        begin_ns = time.perf_counter_ns()

        def ended() -> None:
            _marked(name, begin_ns, time.perf_counter_ns())
            end()

        return ended

    def add_step(name: str, number: int, start_ns: int, end_ns: int) -> None:
        # These are times of the day; followers count by the other clock.
        now_ns = time.perf_counter_ns()
        _marked(name, now_ns - (end_ns - start_ns), now_ns)
        if add is not None:
            add(name, number, start_ns, end_ns)
        _reaches((MARKER, name))

    wrapped: Any = emit_and_count
    add: Any = getattr(emit, "step", None)
    wrapped.step = None if add is None and emit is not None else add_step
    return emit_and_count


def _usual_ns(lengths: list[int]) -> float:
    """How long steps took together, but for pauses between them."""
    return median(lengths) * len(lengths)


def _is_regular(lengths: list[int]) -> bool:
    return _usual_ns(lengths) >= _REGULAR_FRAC * sum(lengths)


def _spread(lengths: list[int]) -> float:
    """How irregular steps are: the median deviation by the median."""
    middle = median(lengths)
    return median(abs(length - middle) for length in lengths) / max(middle, 1)
