"""What advice says first about the collection, against its labels.

python -m tests.collection.score [--part develop|score|all] [--without-rules] [--only TEXT]

Prints one line per recording, then totals of each part apart: the first finding, its place,
savings, steps, false alarms, and how far a confidence can be believed. With ``--without-rules``
the rules that know a program's fault are taken away, and only the place counts.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from statistics import fmean, median
from typing import Any, Final

import stepscope
from stepscope.advice import RULES, advise
from stepscope.result import Advice, Finding, Likelihood
from stepscope.session.rules import all_rules
from stepscope.surfaces.cli.pages.parts import printed
from tests.collection.labels import Recorded, recordings
from tests.collection.margins import change_of

NOTHING: Final = "–"
# Both sides are measured on a shared machine: this much of a step is noise.
_NOISE_FRAC: Final = 0.05
# Two measures of the same period may differ by as much: the program's watch and the file's.
_PERIOD_FRAC: Final = 0.1
# Steps cut at the edges: Keras begins and ends to record within a batch.
_EDGES: Final = 2
# A count with less confidence is reported as uncertain.
_SURE: Final = 0.8
# Rules that claim no cause: a label that does not accept them may still hold at their place. All
# others claim one; it is wrong where the label does not accept it, whatever the place.
_PLACES_ONLY: Final = """
    garbage-collection gil-contention gradient-buckets graph-breaks largest-part
    loader-workers memory-at-peak memory-growth optimizer-per-variable python-bound
    separate-attention slow-link start-up unequal-stages
"""
CAUSES: Final = frozenset(RULES.ids) - frozenset(_PLACES_ONLY.split())
# What may be said where neither function nor op was recorded.
_UNSEEN: Final = re.compile("Python|[Nn]othing (?:was )?recorded|not recorded")
_NO_LINE: Final = re.compile(r"Which line [^.]* was not recorded\.|source line not recorded")
_BINS: Final = ((0.0, 0.5), (0.5, 0.8), (0.8, 0.9), (0.9, 1.01))


@dataclass(frozen=True)
class Judged:
    """A recording and what the advice says about it.

    Attributes:
        recorded: The recording.
        first: The first finding, if any.
        is_right: The first finding is of an accepted kind; on a healthy program: no alarm.
        is_visible: Whether the recording holds any name of the true place at all.
        is_placed: It names the true place; where that is not recorded, it says that it is Python.
        alarms: Rules above "info".
        saving: Lower and upper share of the step that the first finding promises, if it does.
        steps: Steps found and their mean time in ms; None without steps.
        are_steps_sure: Whether they are reported as certain.
        failed: Rules that broke, or why nothing could be said at all.
        told: Likelihood of each finding above "info", and whether it names the planted fault; on a
            healthy program none does.
        change: Name of the class of changes that the first finding is about.
    """

    recorded: Recorded
    first: Finding | None
    is_right: bool
    is_visible: bool
    is_placed: bool
    alarms: tuple[str, ...]
    saving: tuple[float, float] | None
    steps: tuple[int, float] | None
    are_steps_sure: bool
    failed: tuple[str, ...]
    told: tuple[tuple[Likelihood, bool], ...] = ()
    change: str = ""

    @property
    def is_faulty(self) -> bool:
        """Whether anything was planted."""
        return self.recorded.label.planted is not None

    @property
    def is_period_right(self) -> bool:
        """Whether the mean step is as long as the program measured it."""
        truth, repeats = self.recorded.step_ms, self.recorded.label.repeats
        return self.steps is not None and any(
            abs(self.steps[1] - one) <= _PERIOD_FRAC * one for one in (truth, truth / repeats)
        )

    @property
    def are_steps_right(self) -> bool:
        """Whether the count is exact, edges aside, or said to be uncertain."""
        if self.steps is None or not self.are_steps_sure:
            return True
        truth, repeats = self.recorded.steps, self.recorded.label.repeats
        if self.is_period_right and abs(self.steps[0] - truth) <= _EDGES:
            return True
        return self.steps[0] in (truth, truth * repeats)

    @property
    def does_range_cover(self) -> bool | None:
        """Whether the promised range holds what was measured; None without a promise."""
        if self.saving is None or isnan(self.recorded.saving_frac):
            return None
        low, high = self.saving
        return low - _NOISE_FRAC <= self.recorded.saving_frac <= high + _NOISE_FRAC


def judge(recorded: Recorded, without: Sequence[str] = ()) -> Judged:
    """Ask for advice about a recording and hold it against its label."""
    try:
        with stepscope.open(recorded.path) as session:
            page: Any = session.run("overview_page")
            advice = advice_of(session, without)
            names = "\n".join(session.events().get_column("name").unique().to_list())
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return Judged(recorded, None, False, False, False, (), None, None, False, (text,))
    label = recorded.label
    first = advice.findings[0] if advice.findings else None
    alarms = tuple(one.rule for one in advice.findings if one.severity != "info")
    is_visible = label.places(names)
    is_placed = first is not None and label.places(text_of(first))
    if first is not None and not is_visible:
        # Names of events are not all there is: XLA's programs tell of lines, too.
        is_placed |= says_unseen(text_of(first))
    if label.planted is None:
        is_right = not alarms
    else:
        # A rule that only says where the time goes claims no cause: it is right where its place is.
        is_accepted = first is not None and first.rule in label.accept
        is_right = is_accepted or (first is not None and first.rule not in CAUSES and is_placed)
    found = page.steps
    steps = None
    if found.count:
        whole = found.count + found.dropped
        count = recorded.steps if recorded.steps in (found.count, whole) else whole
        steps = (count, found.time_ms.mean)
    return Judged(
        recorded,
        first,
        is_right,
        is_visible,
        is_placed,
        alarms,
        saving_of(first, steps[1] if steps else recorded.step_ms),
        steps,
        found.confidence >= _SURE,
        tuple(one.rule for one in advice.checked if one.outcome == "failed"),
        tuple(
            (one.likelihood, one.rule in label.accept or label.places(text_of(one)))
            for one in advice.findings
            if one.severity != "info"
        ),
        change_of(first),
    )


def says_unseen(text: str) -> bool:
    """Whether a finding says that its time is Python's, or what nobody recorded.

    That a line is unknown goes for any part: it does not tell which part it is.
    """
    return _UNSEEN.search(_NO_LINE.sub("", text)) is not None


def advice_of(session: stepscope.Session, without: Sequence[str]) -> Advice:
    """All advice, or that of the rules that are left."""
    if not without:
        return session.advice()
    rules = [rule for rule in all_rules() if rule.id not in without]
    results, missing = session.read_by(rules)
    return advise(results, rules, missing)


def text_of(finding: Finding) -> str:
    """Return what the terminal prints of a finding."""
    return "\n".join(printed(finding))


def saving_of(finding: Finding | None, step_ms: float) -> tuple[float, float] | None:
    """The promised range as shares of a step."""
    if finding is None or step_ms <= 0:
        return None
    known = [
        value
        for name in ("saving_low_ms", "saving_ms", "saving_high_ms")
        if (value := getattr(finding, name, None)) is not None
    ]
    return (min(known) / step_ms, max(known) / step_ms) if known else None


def line_of(one: Judged) -> str:
    """One recording."""
    first = one.first.rule if one.first else NOTHING
    placed = "placed" if one.is_placed else "" if one.is_visible else "hidden"
    marks = ("right" if one.is_right else "WRONG", placed)
    truth = f"{one.recorded.steps} x {one.recorded.step_ms:.1f}"
    found = f"{one.steps[0]} x {one.steps[1]:.1f}" if one.steps else "none"
    state = "" if one.are_steps_right and one.is_period_right else " ≠"
    sure = "" if one.are_steps_sure else " unsure"
    truth_frac = one.recorded.saving_frac
    saving = "unsteady" if isnan(truth_frac) else f"{100 * truth_frac:.0f} %"
    if one.saving is not None:
        low, high = one.saving
        saving += f" in {100 * low:.0f}–{100 * high:.0f}"
    return (
        f"{one.recorded.name:58} {marks[0]:5} {marks[1]:6} {first:20} "
        f"steps {truth} / {found}{state}{sure}; saving {saving}"
        + (f"; failed: {', '.join(one.failed)}" if one.failed else "")
    )


def share(part: int, whole: int) -> str:
    """A count, its whole and their ratio."""
    return f"{part} of {whole}" + (f" ({100 * part / whole:.0f} %)" if whole else "")


def totals(judged: Iterable[Judged]) -> str:
    """What is to be shown of a part."""
    rows = list(judged)
    faulty = [one for one in rows if one.is_faulty]
    healthy = [one for one in rows if not one.is_faulty]
    seen = [one for one in faulty if one.is_visible]
    promised = [one for one in faulty if one.does_range_cover is not None]
    widths = [one.saving[1] - one.saving[0] for one in promised if one.saving is not None]
    above = sum(
        one.saving is not None and one.recorded.saving_frac > one.saving[1] + _NOISE_FRAC
        for one in promised
    )
    alarms = [one for one in healthy if one.alarms]
    right = [one for one in faulty if one.is_right]
    by_place = sum(
        one.first is not None and one.first.rule not in one.recorded.label.accept for one in right
    )
    silent = [one for one in faulty if one.first is not None and one.saving is None]
    # A range that is left out counts as wide as one that says nothing.
    all_widths = widths + [1.0] * sum(not isnan(one.recorded.saving_frac) for one in silent)
    wide = f"median width {100 * median(all_widths):.0f} %" if all_widths else NOTHING
    counted = sum(one.are_steps_right for one in rows)
    covered = share(sum(bool(one.does_range_cover) for one in promised), len(promised))
    lines = [
        f"first finding right: {share(sum(one.is_right for one in faulty), len(faulty))}",
        f"   of these by its place, where no rule claims a cause: {by_place} of {len(right)}",
        f"its place right: {share(sum(one.is_placed for one in faulty), len(faulty))}, "
        f"where it is recorded: {share(sum(one.is_placed for one in seen), len(seen))}",
        f"no finding at all: {share(sum(one.first is None for one in faulty), len(faulty))}",
        f"healthy with an alarm: {share(len(alarms), len(healthy))}",
        f"savings covered: {covered}, larger: {above}"
        + (f", median width {100 * median(widths):.0f} % of the step" if widths else ""),
        f"first finding promises nothing: {share(len(silent), len(faulty))}, "
        f"as if its range were all of the step: {wide}",
        words_of_first(rows),
        f"steps exact or said uncertain: {share(counted, len(rows))}",
        f"mean step within {100 * _PERIOD_FRAC:.0f} %: "
        + share(sum(one.is_period_right for one in rows), len(rows)),
        f"rules broken or files unread: {sum(len(one.failed) for one in rows)}",
    ]
    return "\n".join([*lines, *reliability(faulty), *likelihoods(rows)])


def words_of_first(rows: Sequence[Judged]) -> str:
    """Return how many words the terminal prints of a first finding."""
    words = [len(text_of(one.first).split()) for one in rows if one.first is not None]
    if not words:
        return f"words of the first finding: {NOTHING}"
    return f"words of the first finding: median {median(words):.0f}, at most {max(words)}"


def by_change(rows: Sequence[Judged]) -> str:
    """How often the range covers what was measured, by the class of the change."""
    lines = ["change        savings  covered  larger  smaller  median width"]
    promised = [one for one in rows if one.is_faulty and one.does_range_cover is not None]
    for name in sorted({one.change for one in promised}):
        own = [one for one in promised if one.change == name]
        ranges = [(one.recorded.saving_frac, one.saving) for one in own if one.saving is not None]
        larger = sum(truth > saving[1] + _NOISE_FRAC for truth, saving in ranges)
        smaller = sum(truth < saving[0] - _NOISE_FRAC for truth, saving in ranges)
        width = median(saving[1] - saving[0] for _truth, saving in ranges)
        covered = len(ranges) - larger - smaller
        lines.append(
            f"{name or NOTHING:12}  {len(own):7}  {covered:7}  {larger:6}  {smaller:7}  "
            f"{width:12.0%}"
        )
    return "\n".join(lines)


def reliability(faulty: Sequence[Judged]) -> list[str]:
    """How many first findings of a confidence are right."""
    lines = ["confidence    first findings  right or placed"]
    for low, high in _BINS:
        within = [
            one for one in faulty if one.first is not None and low <= one.first.confidence < high
        ]
        right = sum(one.is_right or one.is_placed for one in within)
        lines.append(
            f"{low:.1f}–{min(high, 1.0):.1f}       {len(within):14}  {share(right, len(within))}"
        )
    return lines


def likelihoods(rows: Sequence[Judged]) -> list[str]:
    """How many alarms of each likelihood are right, those about healthy programs among them.

    Recordings of one program are right or wrong together, so programs are counted as well: each
    for the share of its own alarms that is right.
    """
    lines = ["likelihood    all alarms      right               of programs  right"]
    for word in ("likely", "possible", "doubtful"):
        programs: dict[str, list[bool]] = {}
        for row in rows:
            told = [is_right for likelihood, is_right in row.told if likelihood == word]
            if told:
                programs.setdefault(row.recorded.label.program, []).extend(told)
        right = [one for told in programs.values() for one in told]
        mean = fmean([fmean(told) for told in programs.values()]) if programs else 0.0
        lines.append(
            f"{word:10}    {len(right):10}      {share(sum(right), len(right)):18}  "
            f"{len(programs):11}  {f'{100 * mean:.0f} %' if programs else NOTHING}"
        )
    return lines


def report(judged: Sequence[Judged]) -> str:
    """The totals of each part that was judged."""
    texts = []
    for part in ("develop", "score"):
        rows = [one for one in judged if one.recorded.label.part == part]
        if rows:
            texts.append(f"== {part}: {len(rows)} recordings\n{totals(rows)}")
            if part == "develop":  # what fails by class is there to learn from
                texts[-1] += "\n" + by_change(rows)
    return "\n\n".join(texts)


def report_without_rules(part: str = "all", only: str = "") -> str:
    """Each fault with the rules taken away that know it: is its place still named first?"""
    lines: list[str] = []
    for name in ("develop", "score"):
        rows = []
        for recorded in recordings(name, only):
            if part in ("all", name) and recorded.label.planted is not None:
                label = recorded.label
                # What locates the largest part does not know kinds of faults: it is what is left.
                taken = tuple({*label.accept, *label.rules} - {"largest-part"})
                rows.append(judge(recorded, taken or ("nothing",)))
                lines.append(line_of(rows[-1]))
        placed = sum(one.is_placed for one in rows)
        lines.append(f"== {name}, rules taken away: place right {share(placed, len(rows))}")
    return "\n".join(lines)


def main() -> None:
    """Score what is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", default="all", choices=("develop", "score", "all"))
    parser.add_argument("--without-rules", action="store_true")
    parser.add_argument("--only", default="", help="recordings with this text")
    given = parser.parse_args()
    if given.without_rules:
        print(report_without_rules(given.part, given.only))
        return
    judged = []
    for recorded in recordings(given.part, given.only):
        judged.append(judge(recorded))
        print(line_of(judged[-1]), flush=True)
    print("\n" + report(judged))


if __name__ == "__main__":
    main()
