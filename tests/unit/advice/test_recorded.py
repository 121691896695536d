"""What a rule says of evidence that a recording lacks."""

from __future__ import annotations

from types import SimpleNamespace

from stepscope.advice.render import not_recorded
from stepscope.formats.xspace import decode
from stepscope.registry import Unknown
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.recording.evidence import recorded
from tests.profiles.model import Event, host, line, space


def eager(*more: Event) -> Profile:
    """Two steps of eager ops as TensorFlow 2.21 records them: as calls, without runs of ops."""
    events = []
    for step in range(2):
        begin = 1000.0 * step
        events += [
            Event("train", begin, 900, {"step_num": step, "_r": 1}),
            Event("EagerExecute", begin + 10, 100, {"is_func": 0}),
            Event("EagerLocalExecute: MatMul", begin + 20, 80),
        ]
    return Profile("s", (Host("h", decode(space(host(line("python", *events, *more))))),))


def said(profile: Profile) -> Unknown | None:
    overview = SimpleNamespace(recorded=recorded(profile))
    return not_recorded(overview, "host", "ops")  # type: ignore[arg-type]  # what is read of it


def test_ops_that_were_only_dispatched_are_said_to_be() -> None:
    found = said(eager())
    assert found is not None
    assert found.reason.startswith("Calls that dispatch ops were recorded")
    assert "host_tracer_level" not in found.reason
