"""How a tool, or a rule of advice, declares itself; every surface is derived from this.

One ``Tool`` in ``analysis.TOOLS`` gives a Python method, ``stepscope show <id>``, an HTTP
endpoint, a page in the UI, exports, TypeScript types and a docs page, with no further code.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from stepscope.errors import UsageError, nearest
from stepscope.needs import Unavailable, lacking
from stepscope.panels import Panel
from stepscope.records import dataclass
from stepscope.result import Finding, Likelihood, Result, Severity

if TYPE_CHECKING:
    from stepscope.advice.results import Results
    from stepscope.tables.core.profile import Profile, StepsOf, TimeBase
    from stepscope.tables.recording.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Help:
    """Text for an option: ``field: Annotated[type, Help("…")] = default``."""

    text: str


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a tool, as read from its ``Options`` dataclass."""

    name: str
    type: Any
    default: Any
    choices: tuple[str, ...]
    help: str


#: What every surface already means by these names, so no tool may have an option of one.
RESERVED_OPTIONS = frozenset(
    {
        "device",
        "format",
        "host",
        "layout",
        "output",
        "path",
        "per",
        "progress",
        "range",
        "run",
        "steps",
        "table",
        "token",
        "top",
    }
)


@dataclass(frozen=True)
class Tool:
    """A tool of the profiler.

    Attributes:
        id: Stable id, the incumbent's where it has one.
        short: Short name accepted everywhere the id is.
        title: Name of the page.
        tab: Where its page is among the views, one of the tabs in ``VIEWS``.
        run: ``(Profile, Options) -> Result``; a pure function.
        options: The frozen dataclass of its options.
        result: The class of its answer.
        times_of: What its times can be of, first what they are of by itself; empty where nothing
            it says is a sum or a mean.
        steps_of: Whose its steps are where several hosts run them; sums add all hosts up.
        opens: Options that its page opens with, by name; the defaults of ``options`` serve
            scripts. As quick as a need (``needs.py``): every page asks it.
        page: Parts of its page, in order; without them the page shows all fields by their names.
    """

    id: str
    short: str
    title: str
    tab: str
    run: Callable[[Profile, Any], Result]
    options: type
    result: type[Result]
    times_of: tuple[TimeBase, ...] = ()
    steps_of: StepsOf = "sum"
    opens: Callable[[Profile], Mapping[str, str]] = lambda _: {}
    page: tuple[Panel, ...] = ()

    def __post_init__(self) -> None:
        taken = RESERVED_OPTIONS.intersection(f.name for f in dataclasses.fields(self.options))
        if taken:
            raise ValueError(
                f"{self.id}: every tool has {sorted(taken)} already; give the option another name"
            )

    @property
    def summary(self) -> str:
        """First line of the docstring of the tool's result."""
        return (self.result.__doc__ or "").strip().splitlines()[0]

    def available(self, profile: Profile) -> Unavailable | None:
        """None when the tool has something to show, else the reason."""
        return lacking(self.id, profile)

    def option_list(self) -> tuple[Option, ...]:
        """The options in order, ready to become flags, query parameters and form fields."""
        hints = get_type_hints(self.options, include_extras=True)
        found = []
        for f in dataclasses.fields(self.options):
            hint = hints[f.name]
            notes: tuple[Any, ...] = ()
            if hasattr(hint, "__metadata__"):
                hint, notes = hint.__origin__, hint.__metadata__
            choices = get_args(hint) if get_origin(hint) is Literal else ()
            text = next((note.text for note in notes if isinstance(note, Help)), "")
            found.append(Option(f.name, str if choices else hint, f.default, choices, text))
        return tuple(found)

    def parse_options(self, given: dict[str, str]) -> Any:
        """Options from text (query string, flags); unknown names or values raise ``UsageError``."""
        known = {option.name: option for option in self.option_list()}
        values: dict[str, Any] = {}
        for name, text in given.items():
            if name not in known:
                raise UsageError(
                    f"{self.id} has no option {name!r}.",
                    hint=f"Known options: {', '.join(known) or 'none'}.",
                )
            values[name] = _parse(known[name], text, self.id)
        return self.options(**values)


def _parse(option: Option, text: str, tool: str) -> Any:
    if option.choices and text not in option.choices:
        raise UsageError(
            f"{tool}: {option.name} cannot be {text!r}.",
            hint=f"One of {', '.join(option.choices)}.",
        )
    if option.type is bool:
        return parse_flag(text, f"{tool}: {option.name}")
    kinds = [kind for kind in get_args(option.type) if kind is not type(None)] or [option.type]
    try:
        value = kinds[0](text)
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError("It is not a finite number.")
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{tool}: {option.name} cannot be {text!r}.",
            why=str(error),
            hint=f"Give {kinds[0].__name__}.",
        ) from error
    return value


def parse_flag(text: str, what: str) -> bool:
    """Yes or no from text; no for ``""``. Raises ``UsageError`` that names ``what`` it is for."""
    if text.lower() not in ("1", "true", "yes", "on", "0", "false", "no", "off", ""):
        raise UsageError(f"{what} cannot be {text!r}.", hint="Expected true or false.")
    return text.lower() in ("1", "true", "yes", "on")


@dataclass(frozen=True, slots=True)
class Silence:
    """A rule's answer when the problem it looks for is not there, and what it saw instead."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A rule's answer when the recording cannot tell, and what it lacks."""

    reason: str


Answer = Finding | Silence | Unknown
# A saving below this share of the step does not justify changing a program.
NEGLIGIBLE_FRAC = 0.03
_LARGE_FRAC = 0.15
#: The severities, least first.
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
#: From these confidences on a finding is called likely, or possible.
LIKELY, POSSIBLE = 0.8, 0.5


def severity_of(saving_ms: float, step_ms: float) -> Severity:
    """How much a saving matters: "info" below 3 % of the step, "high" from 15 % on.

    "low" is for what has no known share of the step, and still deserves a look.
    """
    if not step_ms > 0 or not saving_ms >= NEGLIGIBLE_FRAC * step_ms:
        return "info"
    return "high" if saving_ms >= _LARGE_FRAC * step_ms else "medium"


def likelihood_of(confidence: float) -> Likelihood:
    """A confidence in a word."""
    if confidence >= LIKELY:
        return "likely"
    return "possible" if confidence >= POSSIBLE else "doubtful"


@dataclass(frozen=True, slots=True)
class ChangeClass:
    """A class of changes to a program: how much of what they are made to they take away.

    Attributes:
        least: The share that goes at least; all of it may.
        assumption: What the range of savings takes for granted, as a clause.
        beside: The share that goes at most of what the part's neighbours may lose with it.
        gains: The share that goes at least of what the most is above the least: what lies beside
            the part always gets quicker with some changes.
        overlaps: Whether the work stays and runs beside the rest of the step: no more than that
            can hide it.
        experiment: The cheapest experiment that decides whether the change pays; ``{place}`` in it
            is the part's.
    """

    least: float
    assumption: str
    beside: float = 1.0
    gains: float = 0.0
    overlaps: bool = False
    experiment: str = ""


@dataclass(frozen=True)
class RuleFacts:
    """What a list of rules knows of one without importing it.

    Attributes:
        id: Stable id; it names the problem, never the fix.
        title: The problem in a few words.
        needs: Ids of the tools whose results it reads, or "pod", which all recordings of a run
            make together; without one of them it is not run.
        optional: The same of results that it reads where there are any.
        adds: The same of results that add words to what it says; a page that shows one tool's
            findings at once goes without them.
        symptom_of: Ids of rules that name the cause of what this one sees: where one of them
            fires, its finding comes before this one's.
        cause_of: Ids of rules that see the symptoms of what this one names: the same, told by
            the cause.
        parts: Kinds of parts of the step (of ``step_account``) that it explains.
    """

    id: str
    _: dataclasses.KW_ONLY
    title: str = ""
    needs: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()
    symptom_of: tuple[str, ...] = ()
    cause_of: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """Ids of all results it reads."""
        return (*self.needs, *self.optional, *self.adds)


@dataclass(frozen=True)
class Rule(RuleFacts):
    """A rule of advice.

    Attributes:
        check: The results it reads -> findings, or why there is none.
        doc: The rule's four sections: what it checks, why it matters, what to do, when it is
            wrong.
        threshold: When it fires, in words.
        evidence: Kinds of evidence that what it says rests on, its silence included; where the
            recording lacks one of them, the rule is not run and cannot tell.
        change: The class of changes that it advises, where they save time.
    """

    check: Callable[[Results], Iterator[Answer]]
    _: dataclasses.KW_ONLY
    doc: str = ""
    threshold: str = ""
    evidence: tuple[Evidence, ...] = ()
    change: ChangeClass | None = None

    @property
    def wrong_when(self) -> str:
        """The last section of ``doc``, on one line."""
        return " ".join(self.doc.partition("When it is wrong:")[2].split())

    @property
    def facts(self) -> RuleFacts:
        """What a list says of it."""
        names = [f.name for f in dataclasses.fields(RuleFacts)]
        return RuleFacts(**{name: getattr(self, name) for name in names})


class Tools(Sequence[Tool]):
    """The tools in order, each imported from its file when it is first asked for.

    Args:
        package: The package the files are in.
        ids: Tool ids, which are the names of the files.
    """

    def __init__(self, package: str, ids: tuple[str, ...]) -> None:
        self._package = package
        self.ids = ids

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> Tool: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Tool]: ...
    def __getitem__(self, place: int | slice) -> Tool | Sequence[Tool]:
        if isinstance(place, slice):
            return Tools(self._package, self.ids[place])
        tool: Tool = import_module(f"{self._package}.{self.ids[place]}").TOOL
        return tool

    def id_of(self, name: str) -> str:
        """The id of the tool that ``find`` returns, which is not imported for its own id."""
        plain = _plain(name)
        return plain if plain in self.ids else self.find(name).id

    def find(self, name: str) -> Tool:
        """The tool with this id or short name; ``trace_viewer@`` and the like lose their mark.

        Raises:
            UsageError: There is none; it lists those there are.
        """
        plain = _plain(name)
        if plain in self.ids:
            return self[self.ids.index(plain)]
        for tool in self:
            if plain == tool.short:
                return tool
        near = nearest(plain, (*self.ids, *(tool.short for tool in self)))
        hint = f"Did you mean {near}?" if near else f"Known tools: {', '.join(self.ids)}."
        raise UsageError(f"There is no tool {name!r}.", hint=hint)


def _plain(name: str) -> str:
    return name.rstrip("@^#").replace("-", "_")


#: The views of the page and their tabs, in order. Each tab has a name of its own; the tools of one
#: tab are ways to group the same data. A view opens on its first tab that has something to show.
VIEWS: Final[Mapping[str, tuple[str, ...]]] = {
    "Answer": ("Verdict", "Steps", "Input", "Idle"),
    "Timeline": ("Tracks", "Python and host"),
    "Work": ("Table", "Roofline", "Graph", "Units"),
    "Memory": ("Over time", "Program"),
    "Compare": ("Two runs", "Ranks", "Runs", "SQL", "About"),
}


def view_of(tab: str) -> str:
    """The view that has a tab.

    Raises:
        KeyError: No view has it.
    """
    return {name: view for view, tabs in VIEWS.items() for name in tabs}[tab]
