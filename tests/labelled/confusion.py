"""What advice says first about each labelled profile, as a list and as a matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from stepscope.advice import RULES, advise
from stepscope.analysis import TOOLS
from stepscope.formats.xspace import decode
from stepscope.pod.decoded import pod_of_profile
from stepscope.result import Advice, Result
from stepscope.tables.core.profile import Host, Profile
from tests.labelled import Labelled

NOTHING = "–"


@dataclass(frozen=True)
class Judged:
    """A labelled profile and what the advice says about it.

    Attributes:
        label: The profile.
        first: The first finding; ``NOTHING`` without one, and on a healthy profile also where
            none is above "info".
        alarms: Findings above "info", in order.
        failed: Rules that broke.
    """

    label: Labelled
    first: str
    alarms: tuple[str, ...]
    failed: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """The planted cause first; nothing above "info" where none is planted."""
        if self.label.expected is None:
            return self.first == NOTHING
        return self.first in (self.label.expected, *self.label.also)


def profile_of(label: Labelled) -> Profile:
    """The profile as a session would open it."""
    hosts = tuple(Host(name, decode(data)) for name, data in label.build().items())
    return Profile(label.name, hosts)


def judge(label: Labelled) -> Judged:
    """Run every tool and every rule on a profile."""
    advice = advice_on(profile_of(label))
    alarms = tuple(one.rule for one in advice.findings if one.severity != "info")
    failed = tuple(one.rule for one in advice.checked if one.outcome == "failed")
    # Some faults, such as one large op, are not alarms by themselves; they still come first.
    counts = bool(alarms) or (label.expected is not None and len(advice.findings) > 0)
    first = advice.findings[0].rule if counts else NOTHING
    return Judged(label, first, alarms, failed)


def advice_on(profile: Profile) -> Advice:
    """All advice on a profile, as a session would give it."""
    results, missing = asked(profile)
    return advise(results, RULES, missing)


def asked(profile: Profile) -> tuple[dict[str, Result], dict[str, str]]:
    """The results that rules read, by tool id, and why others are missing."""
    results: dict[str, Result] = {}
    missing: dict[str, str] = {}
    for name in sorted({one for rule in RULES for one in rule.reads} - {"pod"}):
        tool = TOOLS.find(name)
        lacking = tool.available(profile)
        if lacking is None:
            results[name] = tool.run(profile, tool.options())
        else:
            missing[name] = lacking.missing
    pod = pod_of_profile(profile)
    if isinstance(pod, str):
        missing["pod"] = pod
    else:
        results["pod"] = pod
    return results, missing


def matrix(judged: Iterable[Judged]) -> str:
    """Planted against found: one line for each pair that occurs, the diagonal first."""
    rows = list(judged)
    faults = [one for one in rows if one.label.expected is not None]
    healthy = [one for one in rows if one.label.expected is None]
    pairs = Counter((one.label.expected or "healthy", one.first, one.is_right) for one in rows)
    width = max(len(planted) for planted, _first, _right in pairs)
    lines = [f"{'planted':{width}}  {'first finding':{width}}  profiles"]
    for (planted, first, right), count in sorted(
        pairs.items(), key=lambda item: (not item[0][2], item[0])
    ):
        mark = "" if right else "  ← wrong"
        lines.append(f"{planted:{width}}  {first:{width}}  {count:8}{mark}")
    found = sum(one.is_right for one in faults)
    quiet = sum(one.is_right for one in healthy)
    lines.append(f"\nplanted cause first in {found} of {len(faults)} profiles with a fault")
    lines.append(f'nothing above "info" in {quiet} of {len(healthy)} healthy profiles')
    lines += [
        f"  {one.label.name}: planted {one.label.expected}, found {', '.join(one.alarms)}"
        for one in rows
        if not one.is_right
    ]
    return "\n".join(lines)
