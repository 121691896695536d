"""Every rule answers on any recording, and claims nothing absent that was not recorded.

Every rule is asked of recordings from which one kind of evidence was taken. A rule's silence rests
on the ``evidence`` of its table in the catalogue; what it rests on besides is listed here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from stepscope.advice import RULES, advise
from stepscope.advice.catalogue import entries
from stepscope.formats.xspace import decode
from stepscope.result import Advice
from stepscope.result import _plain as plain
from stepscope.tables.core.profile import Host, Profile
from tests.labelled.synthetic import GOOD, GOOD_TPU, POD, WAIT
from tests.profiles import (
    async_gpu,
    gpu,
    hostile_names,
    negative_thread_ids,
    no_events,
    only_a_recorder,
    overlapping_streams,
    pytorch_like,
    space,
    stream,
    unmarked,
    worked_example,
)
from tests.profiles.loops import record
from tests.profiles.messages import XSpace
from tests.profiles.model import line
from tests.unit.advice.asking import Asked


def advice_on(*recordings: bytes) -> Advice:
    """What all rules say of a run of these hosts; none of them may break."""
    hosts = tuple(Host(f"h{index}", decode(data)) for index, data in enumerate(recordings))
    wanted = {tool for rule in RULES for tool in rule.reads}
    advice = advise(Asked(Profile("s", hosts)).results(*wanted), RULES)
    assert [one for one in advice.checked if one.outcome == "failed"] == []
    return advice


READY = {
    "worked example": worked_example(gpu=True),
    "without a device": worked_example(),
    "one step": worked_example(gpu=True, steps=1),
    "host ahead": async_gpu(),
    "two streams": overlapping_streams(),
    "unmarked": unmarked(),
    "PyTorch": pytorch_like(),
    "strange threads": negative_thread_ids(),
    "hostile names": hostile_names(),
    "no events": no_events(),
    "only a recorder": only_a_recorder(),
    "kernels of no length": space(gpu(0, stream(7, ("sgemm", 0, 0), ("MemcpyH2D", 1, 0)))),
}


@pytest.mark.parametrize("name", READY)
def test_every_rule_answers_in_plain_json_with_bounded_numbers(name: str) -> None:
    advice = advice_on(READY[name])
    assert len(advice.checked) == len(RULES)
    words = {"fired": "found", "silent": "not found", "unknown": "not enough data"}
    for checked in advice.checked:
        assert checked.said == words[checked.outcome]
        assert checked.reason or checked.outcome == "fired"
    for found in advice.findings:
        assert found.rule in json.dumps(plain(found, None), allow_nan=False)
        assert 0 <= found.confidence <= 1
        assert found.saving_ms is None or found.saving_ms >= 0
        if found.saving_ms is not None and found.saving_high_ms is not None:
            assert found.saving_high_ms >= found.saving_ms * (1 - 1e-9)


def test_every_rule_answers_on_hosts_that_have_nothing_in_common() -> None:
    advice_on(worked_example(gpu=True), no_events(), pytorch_like(), unmarked())


# ------------------------------------------------------------------ evidence that was taken away

DRIVER = re.compile(r"^(cu|cuda|hip)[A-Z]|Execute$|ExecutorState|Synchron|Block|Await", re.I)
INPUT = re.compile(r"Iterator|DataLoader|next\(", re.I)
DISPATCH = re.compile(r"EagerExecute|PjitFunction|aten(::|/)|FunctionRun", re.I)
Edit = Callable[[XSpace], None]


def _keep(field: Any, wanted: Iterable[Any]) -> None:
    kept = list(wanted)
    del field[:]
    field.extend(kept)


def _without_planes(start: str) -> Edit:
    def edit(message: XSpace) -> None:
        _keep(message.planes, (one for one in message.planes if not one.name.startswith(start)))

    return edit


def _without_events(names: re.Pattern[str]) -> Edit:
    """Take away the host's events of such names."""

    def edit(message: XSpace) -> None:
        for plane in message.planes:
            if plane.name.startswith("/host:CPU"):
                known = {id_: one.name for id_, one in plane.event_metadata.items()}
                for one in plane.lines:
                    events = (at for at in one.events if not names.search(known[at.metadata_id]))
                    _keep(one.events, events)

    return edit


def _without_stats(message: XSpace) -> None:
    """Take away any stat of an event but those that mark steps."""
    for plane in message.planes:
        marks = {id_ for id_, one in plane.stat_metadata.items() if one.name in ("step_num", "_r")}
        for one in plane.lines:
            for event in one.events:
                _keep(event.stats, (stat for stat in event.stats if stat.metadata_id in marks))


def _on_device_only(message: XSpace) -> None:
    """Leave steps that the device's own line marks, and nothing of the host."""
    steps = [(str(number), 100.0 * number, 90.0) for number in range(12)]
    kernels = [("sgemm", 100.0 * number + 10, 60.0) for number in range(12)]
    message.ParseFromString(space(gpu(0, line("Steps", *steps), stream(7, *kernels))))


def _loop(**fields: Any) -> bytes:
    return next(iter(record(replace(GOOD, **fields)).values()))


WHOLE = {
    "waiting loop": _loop(wait=WAIT, input_us=50, python_us=100),
    "pod": next(iter(record(POD).values())),
    "TPU": next(iter(record(GOOD_TPU).values())),
    "worked example": READY["worked example"],
    "one step": READY["one step"],
    "CPU": READY["without a device"],
    "PyTorch": READY["PyTorch"],
}
HOST = {"host", "driver", "input", "python", "dispatch", "garbage"}
# What a recording lacks once it was edited so.
TAKEN: dict[str, tuple[set[str], list[Edit]]] = {
    "nothing taken": (set(), []),
    "no host": (HOST, [_without_planes("/host:CPU")]),
    "no device": ({"device", "driver"}, [_without_planes("/device")]),
    "no driver": ({"driver"}, [_without_events(DRIVER), _without_stats]),
    "no input": ({"input"}, [_without_events(INPUT)]),
    "no dispatch": ({"dispatch"}, [_without_events(DISPATCH), _without_stats]),
    "no programs": (set(), [_without_planes("/host:metadata")]),
    "no stats": (set(), [_without_stats]),
    "device steps only": (HOST, [_on_device_only]),
    "no ops": ({"ops", "device", "driver", *HOST}, [_without_planes("/")]),
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
def _silent(whole: str, taken: str) -> dict[str, str]:
    """Rules that are silent about what is left of a recording, and why."""
    message = XSpace.FromString(WHOLE[whole])
    for edit in TAKEN[taken][1]:
        edit(message)
    advice = advice_on(bytes(message.SerializeToString()))
    return {one.rule: one.reason for one in advice.checked if one.outcome == "silent"}


@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("whole", WHOLE)
def test_no_silence_claims_what_was_not_recorded(whole: str, taken: str) -> None:
    def rests_on(rule: str) -> set[str]:
        return RESTS_ON.get(rule, set()) | set(entries()[rule].evidence)

    silent = _silent(whole, taken).items()
    wrong = {rule: reason for rule, reason in silent if rests_on(rule) & TAKEN[taken][0]}
    assert wrong == {}


def test_there_is_silence_where_the_evidence_is_there() -> None:
    """Else the test above would pass because no rule is ever silent."""
    silent = _silent("waiting loop", "nothing taken")
    assert {"launch-bound", "device-copies", "collective-bound", "recompilation"} <= silent.keys()
