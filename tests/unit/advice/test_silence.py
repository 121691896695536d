"""No rule says that a thing is absent where the recording lacks the evidence that would show it.

Every rule is asked of recordings from which one kind of evidence was taken. A rule's silence rests
on the ``evidence`` of its table in the catalogue; what it rests on besides is listed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from stepscope.advice import RULES, advise
from stepscope.advice.catalogue import entries
from stepscope.formats.xspace import decode
from stepscope.result import Advice
from stepscope.tables.core.profile import Host, Profile
from tests.labelled.synthetic import GOOD, GOOD_TPU, POD, WAIT
from tests.profiles import gpu, pytorch_like, space, stream, worked_example
from tests.profiles.loops import record
from tests.profiles.messages import XSpace
from tests.profiles.model import line
from tests.unit.advice.asking import Asked

DRIVER = re.compile(r"^(cu|cuda|hip)[A-Z]|Execute$|ExecutorState|Synchron|Block|Await", re.I)
INPUT = re.compile(r"Iterator|DataLoader|next\(", re.I)
DISPATCH = re.compile(r"EagerExecute|PjitFunction|aten(::|/)|FunctionRun", re.I)


def _edited(data: bytes, edit: Callable[[XSpace], None]) -> bytes:
    message = XSpace.FromString(data)
    edit(message)
    return bytes(message.SerializeToString())


def _without_planes(start: str) -> Callable[[bytes], bytes]:
    def edit(message: XSpace) -> None:
        kept = [one for one in message.planes if not one.name.startswith(start)]
        del message.planes[:]
        message.planes.extend(kept)

    return lambda data: _edited(data, edit)


def _without_events(names: re.Pattern[str]) -> Callable[[bytes], bytes]:
    """Without the host's events of such names, and without their numbers of launches."""

    def edit(message: XSpace) -> None:
        for plane in message.planes:
            if not plane.name.startswith("/host:CPU"):
                continue
            for one in plane.lines:
                kept = [
                    event
                    for event in one.events
                    if not names.search(plane.event_metadata[event.metadata_id].name)
                ]
                del one.events[:]
                one.events.extend(kept)

    return lambda data: _edited(data, edit)


def _without_stats(data: bytes) -> bytes:
    """Without any stat of an event but those that mark steps."""

    def edit(message: XSpace) -> None:
        for plane in message.planes:
            marks = {
                id_ for id_, one in plane.stat_metadata.items() if one.name in ("step_num", "_r")
            }
            for one in plane.lines:
                for event in one.events:
                    kept = [stat for stat in event.stats if stat.metadata_id in marks]
                    del event.stats[:]
                    event.stats.extend(kept)

    return _edited(data, edit)


def _on_device_only() -> bytes:
    """Steps that the device's own line marks, and nothing of the host."""
    steps = [(str(number), 100.0 * number, 90.0) for number in range(12)]
    kernels = [("sgemm", 100.0 * number + 10, 60.0) for number in range(12)]
    return space(gpu(0, line("Steps", *steps), stream(7, *kernels)))


def _loop(**fields: object) -> bytes:
    return next(iter(record(replace(GOOD, **fields)).values()))  # type: ignore[arg-type]


WHOLE = {
    "waiting loop": _loop(wait=WAIT, input_us=50, python_us=100),
    "pod": next(iter(record(POD).values())),
    "TPU": next(iter(record(GOOD_TPU).values())),
    "worked example": worked_example(gpu=True),
    "one step": worked_example(gpu=True, steps=1),
    "CPU": worked_example(),
    "PyTorch": pytorch_like(),
}
HOST = {"host", "driver", "input", "python", "dispatch", "garbage"}
TAKEN: dict[str, tuple[set[str], Callable[[bytes], bytes]]] = {
    "nothing taken": (set(), lambda data: data),
    "no host": (HOST, _without_planes("/host:CPU")),
    "no device": ({"device", "driver"}, _without_planes("/device")),
    "no driver": ({"driver"}, lambda data: _without_stats(_without_events(DRIVER)(data))),
    "no input": ({"input"}, _without_events(INPUT)),
    "no dispatch": ({"dispatch"}, lambda data: _without_stats(_without_events(DISPATCH)(data))),
    "no programs": (set(), _without_planes("/host:metadata")),
    "no stats": (set(), _without_stats),
    "device steps only": ({*HOST}, lambda _data: _on_device_only()),
    "no ops": ({"ops", "device", "driver", *HOST}, _without_planes("/")),
}
# What the silence of a rule rests on if its table has no ``evidence``, or not all. Rules about
# tf.data, kernels, HLO, memory and the idle time of devices also need the tool that shows it:
# without that they are not asked.
RESTS_ON: dict[str, set[str]] = {
    rule: {*kinds.split()}
    for kinds, rules in {
        "host": (
            "serial-map missing-prefetch no-cache nested-datasets no-interleave "
            "python-in-pipeline batch-after-map file-reads late-filter late-shard "
            "few-input-threads host-input-limit late-hand-over input-takes-cores"
        ),
        "device driver": "tiny-kernels slow-launches host-waits allocation-stalls",
        "device": "host-copies full-precision tensor-cores-unused layout-transposes small-batch",
        "ops": "roofline-gap no-xla",
    }.items()
    for rule in rules.split()
}


@cache
def _advice(whole: str, taken: str) -> Advice:
    data = TAKEN[taken][1](WHOLE[whole])
    asked = Asked(Profile("s", (Host("h", decode(data)),)))
    wanted = {tool for rule in RULES for tool in rule.reads}
    return advise(asked.results(*wanted), RULES)


def _rests_on(rule: str) -> set[str]:
    return RESTS_ON.get(rule, set()) | set(entries()[rule].evidence)


@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("whole", WHOLE)
def test_no_silence_claims_what_was_not_recorded(whole: str, taken: str) -> None:
    lacking = TAKEN[taken][0]
    advice = _advice(whole, taken)
    silent = {one.rule: one.reason for one in advice.checked if one.outcome == "silent"}
    wrong = {rule: reason for rule, reason in silent.items() if _rests_on(rule) & lacking}
    assert wrong == {}
    assert [one for one in advice.checked if one.outcome == "failed"] == []


def test_there_is_silence_where_the_evidence_is_there() -> None:
    """Else the test above would pass because no rule is ever silent."""
    found = _advice("waiting loop", "nothing taken")
    silent = {one.rule for one in found.checked if one.outcome == "silent"}
    assert {"launch-bound", "device-copies", "collective-bound", "recompilation"} <= silent
