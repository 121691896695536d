"""Rules about a program's start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from stepscope.advice.match import Case
from stepscope.advice.render import silent
from stepscope.quantities import size_words
from stepscope.registry import Answer
from stepscope.result import Place, Ref
from stepscope.tables.core.thresholds import LONG_START_MS, PART_FRAC, SEVERAL, START_MS

if TYPE_CHECKING:
    from stepscope.analysis.startup import PartRow

# The cause of a kind of part; kinds that are not here have no remedy, or none that is known.
_CAUSE_OF: Final = {
    "import": "slow-import",
    "compilation": "start-compilation",
    "autotuning": "start-compilation",
    "tracing": "start-retracing",
    "reading": "start-reading",
    "look-up": "start-look-up",
    "network": "start-network",
    "lock": "start-lock",
    "processes": "start-processes",
    "sleep": "slow-start",
}
# Causes whose parts are one problem, whatever their names are.
_TOGETHER: Final = ("start-compilation", "start-reading", "start-look-up", "start-network")
# A program that steps needs these, and what they import: where that happens is no choice.
_FRAMEWORKS: Final = frozenset(
    {"tensorflow", "keras", "jax", "jaxlib", "torch", "numpy", "scipy", "sympy"}
)
# So it does packages whose calls have time in its steps.
_CALLS: Final = ("library", "framework")


def slow_start(case: Case) -> Iterator[Answer]:
    """Fire for each cause whose parts have a tenth of the start, and a second."""
    found, account = case.startup, case.optional.step_account
    owners = [] if account is None else account.owners.records()
    needed = _FRAMEWORKS | {one.name.partition(".")[0] for one in owners if one.kind in _CALLS}
    least = max(PART_FRAC * found.start_ms, START_MS)
    groups: dict[tuple[str, str], list[PartRow]] = {}
    for part in found.parts.records():
        cause = _CAUSE_OF.get(part.kind)
        is_excused = (part.kind == "import" and part.name in needed) or (
            part.kind == "tracing" and part.count < SEVERAL
        )
        if cause is not None and not is_excused:
            name = "" if cause in _TOGETHER else part.name
            groups.setdefault((cause, name), []).append(part)
    costs = {key: sum(part.time_ms for part in parts) for key, parts in groups.items()}
    fires = sorted((key for key in costs if costs[key] >= least), key=lambda key: -costs[key])
    if not fires:
        yield silent("short_start", limit_frac=PART_FRAC)
    for cause, name in fires:
        parts, cost = groups[cause, name], costs[cause, name]
        largest, size = parts[0], sum(part.read_bytes for part in parts if part.read_bytes > 0)
        wait = sum(part.wait_ms for part in parts)
        yield case.match(
            cause,
            cost_ms=cost,
            severity="medium" if cost >= LONG_START_MS else "low",
            place=_place(largest.place),
            evidence=(Ref("startup", "parts.time_ms", rows=(largest.name,)),),
            name=largest.name,
            function=largest.name.rpartition(".")[2],
            what=largest.what[:1].upper() + largest.what[1:],
            start_ms=found.start_ms,
            wait_ms=wait if 2 * wait > cost else None,
            count=sum(part.count for part in parts),
            cache=", ".join(dict.fromkeys(part.cache for part in parts if part.cache)) or None,
            read=size_words(size) if size else None,
            rate=f"{size / 1e3 / cost:,.0f} MB/s" if size else None,
        )


def _place(text: str) -> Place | None:
    file, _, line = text.rpartition(":")
    # A file of a stranger's may name a line of any length.
    return Place(file=file, line=int(line[:9])) if file and line.isdecimal() else None
