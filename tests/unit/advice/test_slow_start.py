"""A slow start: its causes by kind of work, and parts that are no cause."""

from __future__ import annotations

from stepscope.advice import RULES, advise
from stepscope.advice.catalogue import causes
from stepscope.formats.xspace import decode
from stepscope.registry import Silence
from stepscope.tables.core.profile import Host, Profile
from tests.profiles.model import space
from tests.profiles.starts import Look, Span, start
from tests.unit.advice.asking import Asked

RULE = "slow-start"
#: 12 steps of 10 ms from 10 s on.
STEPS = [(10_000.0 + 10 * n, 10_010.0 + 10 * n) for n in range(12)]


def asked(spans: list[Span], looks: list[Look] | None = None) -> Asked:
    whole = looks or [Look("main", 0, 10_120, cpu=10_120)]
    return Asked(Profile("s", (Host("h", decode(space(start(spans, whole, STEPS)))),)))


def test_only_repeated_traces_are_retracing() -> None:
    once = [Span("tracing", "step", 1000, 4000)]
    often = [Span("tracing", "step", 1000 + 600 * n, 1600 + 600 * n) for n in range(5)]
    assert isinstance(asked(once).answers(RULE)[0], Silence)
    found = asked(often).finding(RULE)
    assert (found.cause, found.measured["count"]) == ("start-retracing", 5)


def test_costs_below_a_second_or_a_tenth_are_silent() -> None:
    assert isinstance(asked([Span("import", "package", 0, 900)]).answers(RULE)[0], Silence)
    # PyTorch imports it: that is no choice of the program's.
    assert isinstance(asked([Span("import", "sympy", 1000, 4000)]).answers(RULE)[0], Silence)


def test_the_largest_cause_comes_first() -> None:
    spans = [Span("import", "package", 0, 1500), Span("look-up", "look-up: a", 2000, 5000)]
    profile = asked(spans).profile
    advice = advise(Asked(profile).results("startup"), [rule for rule in RULES if rule.id == RULE])
    assert [one.cause for one in advice.findings] == ["start-look-up", "slow-import"]


def test_every_cause_of_a_start_has_a_change() -> None:
    of_start = [cause for cause in causes().values() if cause.rule == RULE]
    assert len(of_start) == 9
    assert all(cause.fix for cause in of_start)
