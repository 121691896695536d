"""Asks rules about played loops."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from stepscope.advice import RULES, advise
from stepscope.advice.render import reason_of
from stepscope.advice.results import Results
from stepscope.analysis import TOOLS
from stepscope.formats.xspace import decode
from stepscope.pod.decoded import pod_of_profile
from stepscope.registry import Answer
from stepscope.result import Finding
from stepscope.tables.core.profile import Host, Profile
from tests.profiles.loops import Loop, record
from tests.profiles.model import Event, Plane, space
from tests.unit.tables.account.drawn import host


def profile_of(*loops: Loop) -> Profile:
    """The profile of one host per loop."""
    hosts = record(*loops)
    return Profile("s", tuple(Host(name, decode(data)) for name, data in hosts.items()))


class Asked:
    """A profile whose tools are run when a rule needs them."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.result = lru_cache(maxsize=None)(self._result)

    def _result(self, tool_id: str) -> Any:
        if tool_id == "pod":
            pod = pod_of_profile(self.profile)
            return None if isinstance(pod, str) else pod
        tool = TOOLS.find(tool_id)
        return None if tool.available(self.profile) else tool.run(self.profile, tool.options())

    def results(self, *tools: str) -> dict[str, Any]:
        """The results there are, by tool id."""
        found = {tool: self.result(tool) for tool in tools}
        return {tool: result for tool, result in found.items() if result is not None}

    def answers(self, rule_id: str) -> list[Answer]:
        """What one rule says."""
        rule = next(rule for rule in RULES if rule.id == rule_id)
        return list(rule.check(Results(self.results(*rule.reads))))

    def finding(self, rule_id: str) -> Finding:
        """The only answer of a rule, which must be a finding."""
        (answer,) = self.answers(rule_id)
        assert isinstance(answer, Finding), answer
        return answer

    def reason(self, rule_id: str, kind: type) -> str:
        """Why a rule is silent (``Silence``) or cannot know (``Unknown``); its only answer."""
        (answer,) = self.answers(rule_id)
        assert isinstance(answer, kind), answer
        return reason_of(answer, is_recording=False)  # type: ignore[arg-type]  # no finding, above

    def advice(self) -> tuple[Finding, ...]:
        """All findings, in order."""
        wanted = {tool for rule in RULES for tool in rule.reads}
        return advise(self.results(*wanted), RULES).findings


def ask(*loops: Loop) -> Asked:
    """A profile of these loops, ready to be asked about."""
    return Asked(profile_of(*loops))


def opened(*planes: Plane) -> Asked:
    """A profile of one host with these planes."""
    return Asked(Profile("s", (Host("h", decode(space(*planes))),)))


def pictured(*rows: str, **known: Any) -> Asked:
    """A profile of one host, drawn with ``tests.unit.tables.account.drawn.host``."""
    return Asked(Profile("s", (host(*rows, **known),)))


def marks(count: int, length_us: float = 1000.0) -> list[Event]:
    """Marks of so many steps, one after the other."""
    return [
        Event("train", length_us * n, length_us, {"step_num": n, "_r": 1}) for n in range(count)
    ]
