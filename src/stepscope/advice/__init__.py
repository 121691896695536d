"""One file per rule; ``RULES`` is the one ordered list, ``advise`` runs it.

The order of findings: by what fixing them is expected to save, except that a cause stands where
the strongest of the symptoms stands that it explains in good part. A starved step saves more on
paper ("input costs 40 ms") than the serial map that starves it ("threads save 35 ms"), but it is
the map that a person can change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from stepscope.advice.facts import FACTS
from stepscope.advice.results import Results
from stepscope.registry import NEGLIGIBLE_FRAC, Answer, Rule, Rules, Silence, Unknown
from stepscope.result import Advice, Checked, Finding, Result

# A rule is a file of this folder with a RULE, imported when it is first asked for.
RULES = Rules(
    f"{__name__}.rules",
    (
        "input.input_bound",
        "input.serial_map",
        "input.missing_prefetch",
        "input.no_cache",
        "input.no_interleave",
        "input.python_in_pipeline",
        "input.batch_after_map",
        "input.file_reads",
        "input.late_shard",
        "input.few_input_threads",
        "input.host_input_limit",
        "host.launch_bound",
        "device.tiny_kernels",
        "host.slow_launches",
        "host.host_waits",
        "host.allocation_stalls",
        "host.host_copies",
        "device.device_copies",
        "device.idle_device",
        "device.full_precision",
        "device.tensor_cores_unused",
        "device.layout_transposes",
        "device.roofline_gap",
        "device.dominant_op",
        "memory.small_batch",
        "memory.memory_near_limit",
        "memory.memory_fragmentation",
        "workers.collective_bound",
        "workers.exposed_collectives",
        "workers.unbalanced_devices",
        "workers.straggler",
        "workers.worker_skew",
        "host.eager_execution",
        "host.retracing",
        "host.recompilation",
        "host.python_bound",
        "host.print_every_step",
        "device.no_xla",
        "host.slow_steps",
        "host.uneven_steps",
        "recording.incomplete_profile",
    ),
    {facts.id: facts for facts in FACTS},
)

_SEVERITY = ("info", "low", "medium", "high")
# A cause goes before a symptom if it can save this share of what the symptom costs: a wait of
# 0.2 ms does not explain launches of 2 ms, although it may be one of their causes.
_EXPLAINS_FRAC = 0.25
# What a rule itself hardly believes is no alarm.
_DOUBTFUL = 0.25


def advise(
    results: Mapping[str, Result],
    rules: Iterable[Rule] = RULES,
    missing: Mapping[str, str] | None = None,
) -> Advice:
    """What the rules find in these results, and what became of every rule.

    Args:
        results: Results by tool id.
        rules: The rules to run.
        missing: Why a tool has no result here, by tool id.
    """
    ran = list(rules)
    step_ms = _step_ms(results)
    findings: list[Finding] = []
    checked: list[Checked] = []
    for rule in ran:
        found: list[Finding] = []
        quiet: list[Silence | Unknown] = []
        try:
            for answer in _answers(rule, results, missing or {}):
                if isinstance(answer, Finding):
                    found.append(_completed(answer, rule, step_ms))
                else:
                    quiet.append(answer)
        except Exception as error:  # a broken rule, maybe a stranger's, must not cost the others
            checked.append(
                Checked(rule.id, rule.title, "failed", f"{type(error).__name__}: {error}")
            )
            continue
        findings += found
        checked.append(_outcome(rule, found, quiet))
    return Advice(_ordered(findings, ran), tuple(checked))


def _answers(
    rule: Rule, results: Mapping[str, Result], missing: Mapping[str, str]
) -> Iterator[Answer]:
    lacking = [need for need in rule.needs if need not in results]
    if lacking:
        yield Unknown(missing.get(lacking[0], f"There is no result of {lacking[0]}."))
    else:
        # A rule sees what it declares: what it forgot to is missing everywhere, not on some days.
        yield from rule.check(Results({id_: results[id_] for id_ in rule.reads if id_ in results}))


def _outcome(rule: Rule, found: list[Finding], quiet: list[Silence | Unknown]) -> Checked:
    if found:
        return Checked(rule.id, rule.title, "fired")
    unknown = next((one for one in quiet if isinstance(one, Unknown)), None)
    if unknown is not None:
        return Checked(rule.id, rule.title, "unknown", unknown.reason)
    return Checked(rule.id, rule.title, "silent", quiet[0].reason if quiet else "")


def _step_ms(results: Mapping[str, Result]) -> float | None:
    overview = Results(results).optional.overview_page
    mean = float("nan") if overview is None else overview.steps.time_ms.mean
    return mean if mean > 0 else None


def _completed(finding: Finding, rule: Rule, step_ms: float | None) -> Finding:
    """The finding with what its rule says once for all; small savings never cry wolf."""
    saving = finding.saving_ms
    severity = finding.severity
    if finding.confidence < _DOUBTFUL and severity in ("medium", "high"):
        severity = "low"
    small = saving is not None and step_ms is not None and saving < NEGLIGIBLE_FRAC * step_ms
    return replace(
        finding,
        severity="info" if small else severity,
        saving_high_ms=saving if finding.saving_high_ms is None else finding.saving_high_ms,
        title=finding.title or rule.title,
        threshold=finding.threshold or rule.threshold,
        wrong_when=finding.wrong_when or rule.wrong_when,
    )


def _explains(cause: Finding, symptom: Finding) -> bool:
    """Whether a finding of a cause is large enough to account for a symptom."""
    if cause.severity == "info":
        return False
    most, cost = cause.saving_high_ms, symptom.saving_ms
    return most is None or cost is None or most >= _EXPLAINS_FRAC * cost


def _causes(rules: Sequence[Rule]) -> dict[str, tuple[str, ...]]:
    """Ids of the rules that name the cause of what each rule sees."""
    return {
        rule.id: (*rule.symptom_of, *(one.id for one in rules if rule.id in one.cause_of))
        for rule in rules
    }


def _ordered(findings: list[Finding], rules: Sequence[Rule]) -> tuple[Finding, ...]:
    """By saving; a cause directly before the strongest of its symptoms that would outrank it."""
    ranked = sorted(
        findings,
        key=lambda one: (
            one.severity == "info",  # what only informs stands below what asks for a change
            -(one.saving_ms or 0.0),
            -_SEVERITY.index(one.severity),
            one.rule,
        ),
    )
    causes = _causes(rules)
    placed: list[Finding] = []
    visited: set[int] = set()

    def place(at: int) -> None:
        """Its causes, then itself; ``visited`` also ends a circle of rules."""
        if at in visited:
            return
        visited.add(at)
        one = ranked[at]
        explaining = [
            other
            for other, cause in enumerate(ranked)
            if cause.rule in causes[one.rule] and _explains(cause, one)
        ]
        for other in explaining:
            place(other)
        named = {ranked[other].rule for other in explaining}
        explained_by = tuple(cause for cause in causes[one.rule] if cause in named)
        placed.append(replace(one, explained_by=explained_by))

    for at in range(len(ranked)):
        place(at)
    return tuple(placed)
