"""Python's calls on the loop's thread: whose code runs at each moment, and from where it is called.

Recorders write a call as ``$file.py:12 name`` and a line as ``$file.py:15``; a call into C as
``$module name``. TensorFlow's and JAX's tracers write them on the thread's own line, our sampler
and our tracer on planes of their own, with the file's path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from stepscope.columns import distinct, distinct_keys, rows_of
from stepscope.columns.space import I32, I64, U8, Bool
from stepscope.records import dataclass, replace
from stepscope.schema import names
from stepscope.tables.core.installed import (
    FRAMEWORK_FOLDER,
    FRAMEWORK_PACKAGES,
    INSTALLED,
    STANDARD,
    is_installed,
)
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.processes import processes
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.stats import event_stats, metadata_texts
from stepscope.tables.core.thresholds import DEEPEST, HALF_FRAC, PART_FRAC, SEVERAL
from stepscope.tables.core.time_spans import span_at
from stepscope.tables.core.waits import waits_for_device
from stepscope.tables.hlo.modules import hlo_modules
from stepscope.tables.hlo.source import source_files
from stepscope.tables.host.events import hashed_thread
from stepscope.tables.python.library_files import (
    FRAMEWORK_CALLS,
    FRAMEWORK_FILES,
    LIBRARY_FILES,
    LIBRARY_PACKAGES,
    is_around,
    module_of,
    public_name,
)
from stepscope.tables.python.moments import Moments, innermost, levels, one_line
from stepscope.tables.steps.recorder_work import is_recorder_frame, is_wrapper

# Whose code a function is: the program's, of an installed library, of the framework (which
# dispatches ops), of a recorder. UNSAID: its file's name could be anybody's. BUILT_IN: C code that
# is a framework's only where that calls it. COMPILER: a framework that traces or compiles a
# function, with all that it calls, the traced function as well.
OWN, LIBRARY, FRAMEWORK, RECORDER, UNSAID, BUILT_IN, COMPILER = range(7)

_CALL = re.compile(r"\$(.+?):(\d+)(?: (.*))?$", re.S)
# As PyTorch writes calls into C ("run_backward of torch._C._EngineBase object at 0x7f…") and of
# modules ("nn.Module: Linear_0").
_BUILT_IN = re.compile(r"\$<built-in (?:method|function) ([^ >]*)(?: of (\S+) object at .*)?>$")
_OF_LOCK = re.compile(r"\$<built-in method (?:acquire|__enter__) of _thread\.R?[lL]ock object\b")
_MODULE = re.compile(r"\$nn\.Module: (.*?)(?:_\d+)?$")
# Stands for the file of a module's call.
_A_MODULE = "nn.Module"
_OF_FRAMEWORK = re.compile(r"torch\b|Tensor$|Parameter$|type$|pybind11_")
_GENERATED = re.compile(names.INDUCTOR_FILE)
# Functions that libraries write and compile at run time: those of decorators, of NumPy, of attrs,
# of SymPy. A notebook's cells, and what a person types, have such names as well.
_WRITTEN = re.compile(
    r"<(?:class '([\w.]+)'> compilation|decorator-gen|__array_function__|attrs generated|"
    r"lambdifygenerated)"
)
# Where TensorFlow writes what it makes of a function it traces: no line there is the program's.
_AUTOGRAPH = re.compile(r"(?:^|[/\\])__autograph_generated_file\w*\.py$")
_PACKAGES = (
    f"{FRAMEWORK_PACKAGES}|flax|optax|torchvision|lightning"
    "|lightning_fabric|lightning_utilities|pytorch_lightning"
)
# Of these packages what reads and writes files, or keeps logs: that dispatches no
# ops, and a program calls it as it calls any library.
_ASIDE = (
    r"torch[/\\](?:serialization|storage|_weights_only_unpickler|hub|package|utils[/\\]tensorboard)"
    r"|(?:pytorch_)?lightning[/\\].*loggers|keras[/\\]src[/\\](?:saving|legacy[/\\]saving)"
)
_FRAMEWORKS = re.compile(rf"^(?!{_ASIDE})(?:{_PACKAGES})\b")
# PyTorch writes paths from where Python looks for packages: "torch/nn/modules/module.py".
_IN_FRAMEWORK = re.compile(rf"\$(?:{_PACKAGES})[/\\]")
#: What a call that waits for a lock is called by.
LOCK_CALL = names.LOCK_CALL.replace(" ", ".")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[/\\]")
_WAITS = re.compile(
    r"(?:^|\.)(?:block_until_ready|try_to_block|effects_barrier|wait|_wait\w*|acquire|join|result|"
    r"synchronize)$"
)
# What a clock or another machine ends, and nothing that computes here.
# ``readinto`` of a socket's file is where reading an answer waits; that of others decompresses.
_OUTSIDE = re.compile(
    r"(?:^|\.)(?:sleep|select|poll|epoll|recv|recv_into|accept|connect|SocketIO\.readinto)$"
)
# JAX's and TensorFlow's own ways to ask a device for a value.
_FETCHES = re.compile(
    r"(?:^|\.)(?:_value|__array__|block_until_ready|_single_device_array_to_np\w*"
    r"|device_get|_copy_single_device\w*|numpy|_numpy|item|tolist|__float__)$"
)
# Where JAX begins to trace, lower or compile a function.
_COMPILES = re.compile(
    r"(?:^|\.)(?:trace_to_jaxpr\w*|_trace_for_jit|_resolve_and_lower|lower_sharding_computation|"
    r"compile_or_get_cached)$"
)
# What Python calls by itself when it collects garbage: the call it happens in goes on.
_BETWEEN = re.compile(r"gc_callback$")
# Keras and TensorFlow shorten the tracebacks of errors by it: it says nothing of what is called.
_FILTERS = re.compile(r"(?:^|\.)error_handler$")
_PART = re.compile(r"<(?:list|dict|set)comp>$|<genexpr>$|<lambda>$")
# C code that returns in less time than Python needs to call it, whatever its arguments. A loop
# releases the GIL after such a call: a sampler sees the call, and never the Python around it.
_BRIEF = re.compile(
    r"c?math (?!fsum|prod|sumprod|factorial|comb|perm|dist|gcd|lcm|isqrt)"
    r"|builtins (?:callable|chr|id|isinstance|issubclass|len|ord|range)$"
    r"|time (?:time|monotonic|perf_counter)(?:_ns)?$"
)
# Two looks are as far apart as the shortest of what they find lasts, or this many times that.
_APART = 2.0


@dataclass(frozen=True, slots=True)
class Name:
    """A Python call, as one row of ``Space.event_metadata`` names it.

    Attributes:
        function: Its name, with its class; "" for a line.
        file: As recorded, or its path.
        line: Its first line, or the line it was at; 0 unknown.
        kind: Whose code it is.
        public: What a program calls it by, for a library's: ``json.dumps``.
        is_wait: Whether it only waits for what may be computed here.
        is_outside: Whether it waits for a clock or a socket.
        is_fetch: Whether it asks the device for a value, and waits for it.
    """

    function: str
    file: str
    line: int
    kind: int
    public: str
    is_wait: bool
    is_outside: bool
    is_fetch: bool

    @property
    def place(self) -> str:
        """Its file, line and function, as lists name it."""
        return f"{self.file}:{self.line} {self.function}".strip()


@dataclass(frozen=True, eq=False, slots=True)
class Frames:
    """The Python calls of the loop's thread in some steps.

    Attributes:
        rows: Event rows; the columns below have one entry each.
        start_ps: When each begins.
        length_ps: How long it takes.
        moments: Which of them (by place in ``rows``) is the innermost when.
        name: Row of ``Space.event_metadata``.
        kind: Whose code it is, UNSAID resolved by its callers.
        own: The nearest function of the program it is in, itself included; -1 none.
        line: The line the program's function is at; -1 unknown.
        caller: The line, else the function, of the program that calls ``own``; -1 none.
        call: The call out of the program's function it lies in; -1 none.
        is_passive: Whether it waits, or asks the device for a value.
        names: Of each row of ``Space.event_metadata`` that occurs.
        is_sampled: Whether calls come from samples, so that their counts mean nothing.
        looks_ps: When what runs was looked at, or changed: one for each of ``moments``, which may
            begin earlier, where no look was possible.
        is_carried: Whether it lies below a library's call that runs the loop (``carriers``).
        every_ps: When the sampler looked at all; empty where it did not note that.
    """

    rows: I64
    start_ps: I64
    length_ps: I64
    moments: Moments
    name: I64
    kind: U8
    own: I64
    line: I64
    caller: I64
    call: I64
    is_passive: Bool
    names: dict[int, Name]
    is_sampled: bool
    looks_ps: I64
    is_carried: Bool
    every_ps: I64

    def place_of(self, call: I64 | I32) -> I64:
        """The line of the program that each call is at, else its function; -1 neither."""
        return np.where(self.line[call] >= 0, self.line[call], self.own[call])

    def named(self, wanted: Callable[[Name], bool]) -> Bool:
        """Whether the name of each call is wanted."""
        return np.isin(self.name, [row for row, one in self.names.items() if wanted(one)])

    def functions(self) -> tuple[I64, list[Name]]:
        """The number of each call's function, and a name of each: chunks name it once in each."""
        number: dict[tuple[str, str], int] = {}
        named: list[Name] = []
        of_name = np.zeros(max(self.names, default=0) + 1, dtype=np.int64)
        for row, one in self.names.items():
            of_name[row] = number.setdefault((one.file, one.function), len(number))
            named += [one] if len(named) < len(number) else []
        return of_name[self.name], named

    def functions_around(self, own: I64) -> I64:
        """The program's functions that some of them lie in, by row, from the inside out.

        Returns:
            int64[functions, levels], -1 beyond the outermost.
        """
        levels = [own]
        while len(levels) < DEEPEST and (levels[-1] >= 0).any():
            inner = levels[-1]
            around = np.where(inner >= 0, self.caller[np.maximum(inner, 0)], -1)
            levels.append(np.where(around >= 0, self.own[np.maximum(around, 0)], -1))
        return np.stack(levels, axis=1)

    def first_of_name(self) -> I64:
        """The first call of each call's name: places of one name are one."""
        _names, first, code = np.unique(self.name, return_index=True, return_inverse=True)
        same: I64 = first[code.ravel()]
        return same

    def running(self, begin_ps: I64, end_ps: I64) -> I64:
        """The call in each of these spans; of samples, one seen in or around it; -1 for none."""
        if not self.is_sampled:
            return self.moments.at((begin_ps + end_ps) // 2)
        # A call that was last seen before the span may have ended before it.
        call, _look = self.first_seen(begin_ps, end_ps)
        return np.where(call >= 0, call, self.seen_around(begin_ps, end_ps))

    def looks(self) -> tuple[I64, I64]:
        """When what runs was looked at, and what was seen, -1 nothing.

        Where no more was noted, those looks are known that saw another thing than the one before.
        """
        stretches = self.moments
        if len(self.every_ps) == 0 or len(self.looks_ps) == 0:
            return self.looks_ps, stretches.owner
        place = span_at(self.looks_ps, stretches.end_ps, self.every_ps)
        return self.every_ps, np.where(place >= 0, stretches.owner[place], -1)

    def first_seen(self, begin_ps: I64, end_ps: I64) -> tuple[I64, I64]:
        """Return the call that the first look in each span found, and when; -1 without a look."""
        looks, owner = self.looks()
        if len(looks) == 0:
            return np.full(len(begin_ps), -1, np.int64), np.full(len(begin_ps), -1, np.int64)
        at = np.searchsorted(looks, begin_ps, side="left")
        at = np.minimum(at, len(looks) - 1)
        look = looks[at]
        seen = (look >= begin_ps) & (look < end_ps)
        return np.where(seen, owner[at], -1), np.where(seen, look, -1)

    def seen_around(self, begin_ps: I64, end_ps: I64) -> I64:
        """Return the call that was seen before and after each of these spans; -1 for none.

        Where not every look was noted, the last one that found the same was no more than the usual
        time between two looks before another thing was found.
        """
        if len(self.looks_ps) == 0:
            return np.full(len(begin_ps), -1, np.int64)
        if len(self.every_ps):
            return self._same_around(begin_ps, end_ps)
        stretches = self.moments
        apart = _APART * float(np.quantile(stretches.end_ps - self.looks_ps, PART_FRAC))
        at = np.searchsorted(stretches.start_ps, begin_ps, side="right") - 1
        sure = (
            (at >= 0) & (self.looks_ps[at] <= begin_ps) & (end_ps + apart <= stretches.end_ps[at])
        )
        return np.where(sure, stretches.owner[at], -1)

    def _same_around(self, begin_ps: I64, end_ps: I64) -> I64:
        """Return the call that both looks next to each span saw, if they saw the same line."""
        looks, owner = self.looks()
        last = len(looks) - 1
        at = np.searchsorted(looks, begin_ps, side="right") - 1
        after = np.searchsorted(looks, end_ps, side="left")
        before, then = owner[np.maximum(at, 0)], owner[np.minimum(after, last)]
        known = (at >= 0) & (after <= last) & (before >= 0) & (then >= 0)
        line = self.line[before]
        same = (before == then) | ((line >= 0) & (line == self.line[then]))
        return np.where(known & same, before, -1)


def frames(host: Host, line: int, begin_ps: int, end_ps: int) -> Frames | None:
    """The Python calls of a thread that touch the time between; None where none was recorded."""
    rows, is_sampled = _rows(host, line, begin_ps, end_ps)
    if len(rows) == 0:
        return None
    return linked(host, rows, is_sampled=is_sampled)


def linked(host: Host, rows: I64, *, is_sampled: bool) -> Frames:
    """The Python calls of one line, given by their event rows."""
    space = host.space
    start, length = space.events.start_ps[rows], space.length_ps[rows]
    meta = space.events.metadata[rows].astype(np.int64)
    known = names_of(host, distinct(meta))
    looks = _looks_of(host, int(space.lines_of(rows[:1])[0])) if is_sampled else None
    return _linked(rows, start, length, meta, known, looks)


def python_rows(host: Host, begin_ps: int, end_ps: int) -> I64:
    """Event rows of the Python calls of all threads that touch the time between.

    A recorder's wrappers are left out: what they call has their caller.
    """
    space = host.space
    is_call = entries_named(host, _is_call)
    rows = rows_of(space.events.metadata, is_call)
    start = space.events.start_ps[rows]
    return rows[(start < end_ps) & (start + space.length_ps[rows] > begin_ps)]


def _is_call(name: str) -> bool:
    return name.startswith(names.PYTHON_CALL_MARK) and not is_wrapper(name)


def _rows(host: Host, line: int, begin_ps: int, end_ps: int) -> tuple[I64, bool]:
    """Python calls of the thread: from the sampler or our tracer where they ran, else its own."""
    space, rows = host.space, python_rows(host, begin_ps, end_ps)
    if len(rows) == 0:
        return rows, False
    lines = space.lines_of(rows)
    plane = np.asarray([one.plane for one in space.lines], dtype=np.int64)[lines]
    plane_name = [one.name for one in space.planes]
    # A launcher waits for the child process that has the loop.
    child = processes(host).suffix_of(line)
    for wanted in (names.PYTHON_CALLS_PLANE, names.PYTHON_SAMPLES_PLANE):
        here = np.asarray([name == wanted + child for name in plane_name] or [False])[plane]
        if here.any():
            chosen = _python_line(host, distinct(lines[here]), line, (begin_ps, end_ps))
            return rows[lines == chosen], wanted == names.PYTHON_SAMPLES_PLANE
    return rows[lines == line], False


def _without_gaps(moments: Moments) -> Moments:
    """Where no sample could be taken, what the next one sees had the lock meanwhile.

    A call into C that keeps the lock (a collection of garbage, an extension) keeps the sampler
    from looking; when it gives the lock up, it is still what the thread is at.
    """
    start = moments.start_ps.copy()
    start[1:] = moments.end_ps[:-1]
    return Moments(start, moments.end_ps, moments.owner)


def names_of(host: Host, meta: I64) -> dict[int, Name]:
    """Return the call that each of these rows of ``Space.event_metadata`` names."""
    space = host.space
    paths = metadata_texts(host, names.SOURCE)
    listed: list[int] = meta.tolist()
    own = frozenset[str]() if all(row in paths for row in listed) else program_files(host)
    text = {row: space.event_metadata.name[row] for row in listed}
    has_folders = any(_IN_FRAMEWORK.match(one) for one in text.values())
    return {row: _name(one, paths.get(row, ""), own, has_folders) for row, one in text.items()}


def own_calls_at(host: Host, row: int, times: I64) -> I64:
    """The innermost call of no library at each time, as a row of ``Space.event_metadata``; or -1.

    Whose code a call is, its name alone says here: between two functions of a model there are
    always some of PyTorch's.
    """
    space, line = host.space, host.space.lines[row]
    calls = np.arange(line.begin, line.end)
    meta = space.events.metadata[calls].astype(np.int64)
    start, length = space.events.start_ps[calls], space.length_ps[calls]
    known = names_of(host, distinct(meta))
    theirs = [one for one, name in known.items() if name.kind in (OWN, UNSAID) and name.line > 0]
    nesting = one_line(start, length)
    parent, is_theirs = nesting.parent.astype(np.int64), np.isin(meta, theirs)
    own = np.full(len(calls), -1, np.int64)
    for here in levels(nesting):
        above = np.append(own, -1)[parent[here]]
        own[here] = np.where(is_theirs[here], here, above)
    found = np.append(own, -1)[innermost(start, length).at(times)]
    at: I64 = np.append(meta, -1)[found]
    return at


def own_places_on(
    host: Host, lines: Iterable[int], texts: dict[str, int], text_of: Callable[[Name], str]
) -> Callable[[I64], I64]:
    """Return a look-up of the program's innermost call on a thread, as a code; -1 for none.

    Args:
        host: Whose.
        lines: Rows of the thread's lines.
        texts: Codes by what calls are named; those of new names are added.
        text_of: How a call is named.
    """

    def at(times: I64) -> I64:
        code = np.full(len(times), -1, np.int64)
        for line in lines:
            here = own_calls_at(host, line, times)
            used, dense = np.unique(here, return_inverse=True)
            known = names_of(host, used[used >= 0])
            named = [
                texts.setdefault(text_of(known[one]), len(texts)) if one in known else -1
                for one in used.tolist()
            ]
            code = np.where(here >= 0, np.asarray(named, np.int64)[dense.ravel()], code)
        return code

    return at


@derived
def program_files(host: Host) -> frozenset[str]:
    """Names of the program's own files, as far as XLA's programs say where their ops were written.

    A ``trainer.py`` may be anybody's; one that lies beside no installed library is the program's.
    """
    paths = {path for index in hlo_modules(host).stack_frames() for path in source_files(index)}
    return frozenset(re.split(r"[/\\]", path)[-1] for path in paths if not is_installed(path))


def _name(text: str, path: str, own: frozenset[str], has_folders: bool) -> Name:
    said = _CALL.match(text)
    if said is None:
        return _without_file(text)
    file, line, function = said.groups()
    function = function or ""
    path = path.rpartition(":")[0] or path or (file if _ABSOLUTE.match(file) else "")
    kind, module = _origin(file, path, function, has_folders)
    if is_recorder_frame(text):
        kind, module = RECORDER, ""
    elif kind == FRAMEWORK and _COMPILES.search(function):
        kind = COMPILER
    if not path and kind != RECORDER and file in own and not _is_api(file, function):
        kind, module = OWN, ""
    public = public_name(module, function.rpartition(".<locals>.")[2])
    waits = _waits(function) if kind != OWN else (False, False, False)
    return Name(function, file, int(line), kind, public, *waits)


def _without_file(text: str) -> Name:
    """Of a module of PyTorch's, or a call into C."""
    public = ""
    if (module := _MODULE.match(text)) is not None:
        return Name(module.group(1), _A_MODULE, 0, FRAMEWORK, module.group(1), *_waits(""))
    elif _OF_LOCK.match(text):
        return Name("acquire", "", 0, LIBRARY, LOCK_CALL, *_waits("acquire"))
    elif (called := _BUILT_IN.match(text)) is not None:
        function = called.group(1)
        kind = FRAMEWORK if _OF_FRAMEWORK.match(called.group(2) or "") else BUILT_IN
    else:
        outer, _, function = text[1:].rpartition(" ")
        outer = "" if outer == "<unknown>" else outer
        public = "" if outer in ("", "builtins") else f"{outer}.{function}"
        if _BRIEF.match(text[1:]):
            return Name(function, "", 0, UNSAID, public or function, *_waits(""))
        kind = FRAMEWORK if _FRAMEWORKS.match(outer) or "xla" in outer.lower() else LIBRARY
    return Name(function, "", 0, kind, public or function, *_waits(function))


def _is_api(file: str, function: str) -> bool:
    """Whether a call by its name is a framework's, though the program has such a file as well."""
    waits = _WAITS.search(function) or _FETCHES.search(function)
    return bool(waits) or function in FRAMEWORK_CALLS.get(file.removesuffix(".py"), ())


def _waits(function: str) -> tuple[bool, bool, bool]:
    """Whether a function that is not the program's waits, for something outside, for a device."""
    return (
        _WAITS.search(function) is not None,
        _OUTSIDE.search(function) is not None,
        _FETCHES.search(function) is not None,
    )


def _origin(file: str, path: str, function: str, has_folders: bool) -> tuple[int, str]:
    """Return the owner of a function of a file, and the module it is known by.

    Files may be recorded with the folders of their packages: one of no framework and no library
    is then the program's.
    """
    if _GENERATED.search(path or file):
        return FRAMEWORK, "torch"
    if _AUTOGRAPH.search(path or file):
        return FRAMEWORK, "tensorflow"
    if (path or file) == "<string>":  # made by whom calls it, as a dataclass' __init__ is
        return UNSAID, ""
    if (written := _WRITTEN.match(path or file)) is not None:
        return LIBRARY, (written.group(1) or "").split(".")[0]
    installed, standard = INSTALLED.search(path), STANDARD.search(path)
    if installed is not None:
        inside = installed.group(1).replace("\\", "/")
        is_framework = _FRAMEWORKS.match(inside) is not None
        return FRAMEWORK if is_framework else LIBRARY, module_of(inside)
    if standard is not None:
        inside = (standard.group(1) or standard.group(2) or "").replace("\\", "/")
        return LIBRARY, inside.removesuffix(".py").removesuffix("/__init__").split("/")[0]
    if (within := FRAMEWORK_FOLDER.search(path)) is not None:
        return FRAMEWORK, module_of(within.group(1))
    if path and not _ABSOLUTE.match(path) and "/" in path:
        # Samplers' files are read from where Python looks for packages, as PyTorch writes them.
        package = path.split("/")[0]
        if _FRAMEWORKS.match(path):
            return FRAMEWORK, module_of(path)
        if package in LIBRARY_PACKAGES or package in _PACKAGES.split("|"):
            return LIBRARY, module_of(path)
    if path:
        return OWN, ""
    file = file.replace("\\", "/")
    stem = file.rpartition("/")[2].removesuffix(".py")
    if "/" in file and _FRAMEWORKS.match(file):
        return FRAMEWORK, file.split("/")[0]
    if has_folders and not file.startswith("<"):
        package = file.split("/")[0].removesuffix(".py")
        is_library = package in LIBRARY_PACKAGES or stem == "__init__" == package
        is_library |= "/" in file and package in _PACKAGES.split("|")
        return (LIBRARY, package.removeprefix("__init__")) if is_library else (OWN, "")
    is_call = function in FRAMEWORK_CALLS.get(stem, ()) or waits_for_device(file, function)
    if stem in FRAMEWORK_FILES or is_call:
        return FRAMEWORK, stem
    if stem in LIBRARY_FILES or stem == "__init__" or file.startswith("<frozen"):
        return LIBRARY, stem if stem != "__init__" else ""
    return UNSAID, ""


def _with_classes(known: dict[int, Name], meta: I64, parent: I64) -> dict[int, Name]:
    """The names with the classes of modules, whose functions PyTorch records without them.

    What modules of several classes have in common keeps its own name alone.
    """
    module = {row: one.function for row, one in known.items() if one.file == _A_MODULE}
    bare = [
        row for row, one in known.items() if one.function == "forward" and one.kind != FRAMEWORK
    ]
    if not module or not bare:
        return known
    found = dict(known)
    modules = np.asarray(list(module), dtype=np.int64)
    for row in bare:
        at, classes = np.flatnonzero(meta == row), set[str]()
        for _level in range(SEVERAL - 1):
            at = parent[at]
            at = at[at >= 0]
            is_module = np.isin(meta[at], modules)
            classes |= {module[one] for one in distinct(meta[at[is_module]]).tolist()}
            at = at[~is_module]
        if len(classes) == 1:
            found[row] = replace(known[row], function=f"{classes.pop()}.forward")
    return found


def _is_part(name: Name) -> bool:
    """Whether a call is of the function around it: a comprehension, what decorates a model's.

    So is brief C code: unsaid, and without a file.
    """
    is_brief = name.kind == UNSAID and not name.file
    return (
        is_brief or _PART.search(name.function) is not None or is_around(name.file, name.function)
    )


def _linked(
    rows: I64, start: I64, length: I64, meta: I64, known: dict[int, Name], looks: I64 | None
) -> Frames:
    """Each call with the program's function, line and outgoing call it lies in.

    One step per depth of the stacks, so there is no loop over calls. ``looks`` is when a sampler
    looked, as far as it noted that; None where calls were traced.
    """
    count = len(rows)
    nesting = one_line(start, length)
    parent = nesting.parent.astype(np.int64)
    first, place = distinct_keys(meta.astype(np.int64))
    facts = [known[row] for row in meta[first].tolist()]
    kind = np.asarray([one.kind for one in facts], dtype=np.uint8)[place]
    is_line = np.asarray([not one.function for one in facts], dtype=bool)[place]
    is_part = np.asarray([_is_part(one) for one in facts], dtype=bool)[place]
    is_filter = np.asarray([_FILTERS.search(one.function) is not None for one in facts])[place]
    is_between = np.asarray([_BETWEEN.search(one.function) is not None for one in facts])[place]
    is_wait = np.asarray([one.is_wait or one.is_fetch for one in facts], dtype=bool)[place]
    own, line, call, caller = (np.full(count, -1, dtype=np.int64) for _ in range(4))
    passive = np.zeros(count, dtype=bool)
    for here in levels(nesting):
        above = parent[here]
        has, up = above >= 0, np.maximum(above, 0)
        # Whose an unsaid function is, its caller says: libraries seldom call programs.
        outer = np.where(has, kind[up], OWN).astype(np.uint8)
        unsaid = (kind[here] == UNSAID) | (is_between[here] & has)
        kind[here] = np.where(unsaid, outer, kind[here])
        of_library = np.where(has & (outer == FRAMEWORK), FRAMEWORK, LIBRARY)
        kind[here] = np.where(kind[here] == BUILT_IN, of_library, kind[here])
        taken = has & (outer == RECORDER) & (kind[here] != OWN)
        kind[here] = np.where(taken, RECORDER, kind[here])
        kind[here] = np.where(has & (outer == COMPILER), COMPILER, kind[here])
        kind[here] = np.where(is_line[here] & has, outer, kind[here])
        mine = (kind[here] == OWN) & ~is_line[here] & ~(is_part[here] & has)
        own[here] = np.where(mine, here, np.where(has, own[up], -1))
        around = np.where(line[up] >= 0, line[up], own[up])
        caller[here] = np.where(has, np.where(mine, around, caller[up]), -1)
        own_line = is_line[here] & (kind[here] == OWN)
        line[here] = np.where(own_line, here, np.where(mine | ~has, -1, line[up]))
        leaves = (kind[here] != OWN) & ~is_line[here]
        is_filtered = is_filter[up] & (call[up] == up)
        begins = leaves & (~has | (outer == OWN) | is_filtered)
        inside = np.where(has & (kind[here] != OWN), call[up], -1)
        call[here] = np.where(begins, here, inside)
        passive[here] = is_wait[here] | (has & passive[up] & (kind[here] != OWN))
    moments = innermost(start, length)
    known = _with_classes(known, meta, parent)
    is_sampled = looks is not None
    return Frames(
        rows, start, length, _without_gaps(moments) if is_sampled else moments, meta, kind, own,
        line, caller, call, passive, known, is_sampled, moments.start_ps,
        np.zeros(count, dtype=bool), np.zeros(0, np.int64) if looks is None else looks,
    )  # fmt: skip


# ---------------------------------------------------------------------------- threads

# PyTorch numbers threads as the system does, and as the recorders of Python do. TensorFlow and JAX
# number them by the hash that C++ makes of what the thread library calls them. Where the recording
# does not hold that, the main thread is taken for the loop's.


def _python_line(host: Host, candidates: I64, line: int, within: tuple[int, int]) -> int:
    """The line among those of a Python recorder that is the loop's thread.

    One that is gone for most of the time answered one request of a server's: the main thread is
    there throughout.
    """
    lines = host.space.lines
    listed: list[int] = candidates.tolist()
    main = [row for row in listed if lines[row].name == "MainThread"]
    same = _numbered(host, listed, line) if line >= 0 else []
    if main:
        least = HALF_FRAC * _there_ps(host, main[0], within)
        same = [row for row in same if _there_ps(host, row, within) >= least]
    return max(same or main or listed, key=lambda row: lines[row].end - lines[row].begin)


def _there_ps(host: Host, row: int, within: tuple[int, int]) -> int:
    """From the first to the last moment of a line, as far as it lies in this time."""
    line, events = host.space.lines[row], host.space.events
    start = events.start_ps[line.begin : line.end]
    last = (start + host.space.length_ps[line.begin : line.end]).max()
    return max(min(int(last), within[1]) - max(int(start.min()), within[0]), 0)


def _numbered(host: Host, listed: list[int], line: int) -> list[int]:
    """Those of the same number as the line, as the system or as C++ numbers threads."""
    lines, idents = host.space.lines, _idents(host)

    def numbers(row: int) -> tuple[int, int]:
        return lines[row].id, hashed_thread(idents.get(row, lines[row].id))

    return [row for row in listed if lines[line].id in numbers(row)]


@derived
def _idents(host: Host) -> dict[int, int]:
    """Return the thread library's names of the threads of lines, as far as recorded."""
    said = event_stats(host).ints(names.THREAD_IDENT)
    rows: list[int] = host.space.lines_of(said.rows).tolist()
    return dict(zip(rows, said.values.tolist(), strict=True))


def _looks_of(host: Host, row: int) -> I64:
    """When the sampler of a line looked at the threads, ascending; empty where none noted it."""
    space = host.space
    for line in space.lines:
        if line.plane == space.lines[row].plane and line.name == names.COUNTER_LINE:
            return np.sort(space.events.start_ps[line.begin : line.end])
    return np.zeros(0, dtype=np.int64)
