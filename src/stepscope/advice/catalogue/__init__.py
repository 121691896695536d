"""The causes that advice knows: conditions, texts, fixes and effects, as TOML.

A table of a subject's file is a cause. One that names no ``rule`` is a rule of its own, with what
it reads and where it stands among the others. ``{name}`` in a text is a fact of that name, printed
with its unit; a clause in brackets is left out where one of its facts is unknown.

``python -m generate`` joins the files into ``catalogue.json``, which takes a tenth of the time to
read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pkgutil import get_data
from typing import Any, Final

from stepscope.records import dataclass
from stepscope.registry import ChangeClass, RuleFacts
from stepscope.tables.core import thresholds

#: Files of causes, each named after what its causes are about, in the order of checked rules.
SUBJECTS: Final = ("recording", "start", "input", "host", "device", "memory", "workers", "step")
# Results with a mean step; what a rule's costs are shares of, if it does not say.
_STEPS: Final = ("overview_page", "step_account", "host_activity", "device_idle", "pod_viewer")
_FRAMEWORKS: Final = ("tensorflow", "jax", "pytorch")


@dataclass(frozen=True, slots=True)
class CauseEntry:
    """A cause, as its table has it.

    Attributes:
        id: Stable id.
        rule: The published id of the rule that reports it.
        subject: The file it is in.
        title: At most 60 characters when filled.
        message: The measured facts in one sentence.
        why: Why that costs time, for ``explain``.
        fix: The change as code or one imperative, by framework; "any" for all others.
        also: Other changes, most useful first.
        wrong: When not to believe it.
        severity: "overhead" is judged by the loss. "large" is overhead whose cause is open: it is
            high from ``ALARM_FRAC`` of the step on. "open" may be overhead or needed: it never
            alarms, and where much of it is found the step is not said to be fine. "work" and "info"
            do neither.
        facts: The provider of its facts (``signals``), where a condition is enough.
        when: That condition.
        cost: The fact that is the loss, in ms.
        high: The fact that is the most that can be saved; "" the cost.
        confidence: 0-1, where the steps are sure; by itself its rule's.
        goes: Shares of its cost that go: at least, as expected, at most; () where facts tell.
        effect: Name of the effect of its change; of a part of the step.
        expected: Share of the part that is expected to go.
        worth: Share of the part that it is ranked by: small where it is likely to be needed.
    """

    id: str
    rule: str
    subject: str
    title: str
    message: str
    why: str = ""
    fix: Mapping[str, str] | None = None
    also: tuple[str, ...] = ()
    wrong: str = ""
    severity: str = "overhead"
    facts: str = ""
    when: str = ""
    cost: str = ""
    high: str = ""
    confidence: float = 0.8
    goes: tuple[float, ...] = ()
    effect: str = ""
    expected: float = 0.0
    worth: float = 0.0

    def code(self, framework: str) -> dict[str, str]:
        """Return the change as code by framework; for one framework only its own.

        Args:
            framework: Its key; "" where it is unknown, which has no code.
        """
        fixes = self.fix or {}
        return {framework: fixes[framework]} if framework in fixes else {}


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """A rule, as its table has it.

    Attributes:
        facts: What lists of rules know of it.
        fires: When it fires.
        evidence: Kinds of events that it needs.
        effect: Name of the effect of its change; "" saves no time.
        detector: ``module:function`` below ``rules``; "" where conditions are enough.
        steps: The tool whose mean step has to be known before it is asked; "" none.
        least: Name of the threshold of a cost, as a share of the step; "" none.
    """

    facts: RuleFacts
    fires: str
    evidence: tuple[str, ...]
    effect: str
    detector: str
    steps: str
    least: str


@cache
def _tables() -> Mapping[str, Mapping[str, Any]]:
    """Return the tables of the causes' files by cause; ``subject`` is added to each."""
    found: dict[str, Mapping[str, Any]] = {}
    for subject in SUBJECTS:
        tables = _read(subject)
        if twice := found.keys() & tables.keys():
            raise ValueError(f"duplicate causes: {sorted(twice)}")
        found |= {id_: {**table, "subject": subject} for id_, table in tables.items()}
    return found


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = _files()[name]
    return found


@cache
def _files() -> Mapping[str, Any]:
    return json.loads(get_data(__name__, "catalogue.json") or b"{}")  # type: ignore[no-any-return]


@cache
def causes() -> Mapping[str, CauseEntry]:
    """Return all causes by id."""
    return {id_: _cause(id_, table) for id_, table in _tables().items()}


def _cause(id_: str, table: Mapping[str, Any]) -> CauseEntry:
    rule = table.get("rule", id_)
    of_rule = _tables()[rule]
    inherited = {"confidence": of_rule["confidence"]} if "confidence" in of_rule else {}
    own = CauseEntry.__dataclass_fields__.keys() - {"id", "rule"}
    values = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in table.items()
        if name in own
    }
    return CauseEntry(id=id_, rule=rule, **inherited | values)


@cache
def entries() -> Mapping[str, RuleEntry]:
    """Return the rules that have their causes here, by id, in order."""
    return {id_: _entry(id_, table) for id_, table in _tables().items() if "rule" not in table}


def _entry(id_: str, table: Mapping[str, Any]) -> RuleEntry:
    names = ("needs", "optional", "adds", "symptom_of", "cause_of", "parts")
    listed = {name: tuple(table.get(name, ())) for name in names}
    return RuleEntry(
        RuleFacts(id_, title=table["problem"], **listed),
        fires=table["fires"],
        evidence=tuple(table.get("evidence", ())),
        effect=table.get("effect", ""),
        detector=table.get("detector", ""),
        steps=table.get(
            "steps", next((one for one in _STEPS if one in table.get("needs", ())), "")
        ),
        least=table.get("least", "ACT_FRAC"),
    )


def threshold(name: str) -> float:
    """Return a threshold by its name."""
    return float(getattr(thresholds, name))


@cache
def effects() -> Mapping[str, ChangeClass]:
    """Return the effects of changes by name."""
    return {name: ChangeClass(**table) for name, table in _read("effects").items()}


@cache
def texts(kind: str) -> Mapping[str, str]:
    """Return the short texts of a kind: "silent" or "unknown" reasons, or "label" of facts."""
    found: Mapping[str, str] = _read("texts")[kind]
    return found


@dataclass(frozen=True, slots=True)
class OpFamily:
    """Ops, or library calls, that one change makes cheaper.

    Attributes:
        id: Stable id.
        say: What they are.
        kind: "overhead", "rare" or "work".
        applies: When the change is worth it.
        better: The change, by framework or for "any".
    """

    id: str
    say: str
    kind: str
    applies: str
    better: Mapping[str, str]
    match: tuple[str, ...]
    python: tuple[str, ...]


@cache
def _families() -> tuple[OpFamily, ...]:
    return tuple(
        OpFamily(
            id=id_,
            say=table["say"],
            kind=table["kind"],
            applies=table.get("applies", ""),
            better=table.get("better", {}),
            match=(*table.get("match", ()), *table.get("kernel", ())),
            python=tuple(table.get("python", ())),
        )
        for id_, table in _read("ops").items()
    )


@cache
def family_of(op: str, call: str = "") -> OpFamily | None:
    """Return the first family that a library's call, or else an op, is of; None without one."""
    if call and (known := next((one for one in _families() if _is_call(call, one.python)), None)):
        return known
    name = (call or op).rpartition("/")[2].rpartition("::")[2].rpartition(".")[2].lower()
    names = {name, name.rstrip("_0123456789")} - {""}
    return next((one for one in _families() if _is_op(names, one.match)), None)


def _is_op(names: set[str], patterns: tuple[str, ...]) -> bool:
    return any(
        name == one[1:] if one[:1] == "=" else one in name for name in names for one in patterns
    )


def _is_call(call: str, patterns: tuple[str, ...]) -> bool:
    return any(
        call.startswith(one[:-1]) if one.endswith("*") else call == one or call.endswith(f".{one}")
        for one in patterns
    )
