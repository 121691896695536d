"""Kinds of evidence that a recording holds: without its kind, an absent thing says nothing.

"No call waits for a device" is true of a step in which such calls would have been seen, and worth
nothing of a recording without the host's threads.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal, get_args

from stepscope.columns.space import Bool
from stepscope.schema import names
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.presence import any_event, entries_shaped, entries_starting
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.core.waits import is_wait_for_device
from stepscope.tables.device.driver_calls import is_device_allocation
from stepscope.tables.device.events import has_device_events
from stepscope.tables.host.events import Work, host_names, host_thread_rows
from stepscope.tables.host.ops import has_host_ops

Evidence = Literal["host", "driver", "device", "ops", "input", "python", "dispatch", "garbage"]
"""Kinds of evidence: threads of the host; calls of the devices' driver or runtime; work on a
device; framework ops, of the host or a device; calls that fetch input; Python functions; ops that
a framework dispatches one by one; Python's collections of garbage."""

KINDS: Final = get_args(Evidence)
_DRIVER: Final = re.compile(
    r"^(cu|cuda|hip)[A-Z]\w+$|LaunchKernel|GraphLaunch|ExecuteThunks|::EnqueueExecution|"
    r"PjRt\w{0,60}Executable::Execute|TransferToDevice|TransferFromDevice"
)
_DISPATCH: Final = re.compile(
    rf"{re.escape(names.PJIT_FUNCTION)}|aten(::|/)|{names.EAGER_EXECUTE}|EagerLocalExecute|"
    r"EagerKernelExecute|TFE_Py_"
)
_INPUT: Final = re.compile(r"Iterator(::|GetNext|BaseGetNext)|infeed|InfeedEnqueue", re.I)


@derived
def recorded(profile: Profile) -> tuple[Evidence, ...]:
    """The kinds of evidence that any host of the session holds, in the order of ``KINDS``."""
    return tuple(kind for kind in KINDS if any(_HOLDS[kind](host) for host in profile.hosts))


def _has_named(host: Host, wanted: Callable[[str], bool]) -> bool:
    """Whether an event of such a name is on a host thread."""
    entries = entries_shaped(host, wanted)
    return any_event(host, host_thread_rows(host).tolist(), entries=entries)


def _has_host(host: Host) -> bool:
    space = host.space
    return any(
        space.lines[row].end > space.lines[row].begin for row in host_thread_rows(host).tolist()
    )


def _has_driver(host: Host) -> bool:
    return _has_named(
        host,
        lambda name: (
            bool(_DRIVER.search(name)) or is_wait_for_device(name) or is_device_allocation(name)
        ),
    ) or any_event(host, host_thread_rows(host).tolist(), stats=(names.CORRELATION_ID,))


def _has_ops(host: Host) -> bool:
    return has_device_events(host) or has_host_ops(host, executed=True)


def _has_input(host: Host) -> bool:
    waits: Bool = host_names(host).work == Work.INPUT_WAIT
    lines = host_thread_rows(host).tolist()
    named = entries_shaped(host, lambda name: bool(_INPUT.search(name)))
    return any_event(host, range(len(host.space.lines)), entries=named) or any_event(
        host, lines, entries=waits
    )


def _has_python(host: Host) -> bool:
    called = entries_starting(host, names.PYTHON_CALL_MARK)
    kinds = planes(host).plane_kind
    lines = [
        row
        for row, line in enumerate(host.space.lines)
        if kinds[line.plane] in (PlaneKind.HOST, PlaneKind.PYTHON)
    ]
    return any_event(host, lines, entries=called)


def _has_dispatch(host: Host) -> bool:
    stats = (names.IS_FUNC, names.IS_EAGER, names.TF_FUNCTION_CALL)
    return _has_named(host, lambda name: bool(_DISPATCH.match(name))) or any_event(
        host, range(len(host.space.lines)), stats=stats
    )


def _has_garbage(host: Host) -> bool:
    entries = entries_starting(host, names.COLLECTION)
    return any_event(host, range(len(host.space.lines)), entries=entries)


_HOLDS: Final[dict[Evidence, Callable[[Host], bool]]] = {
    "host": _has_host,
    "driver": _has_driver,
    "device": has_device_events,
    "ops": _has_ops,
    "input": _has_input,
    "python": _has_python,
    "dispatch": _has_dispatch,
    "garbage": _has_garbage,
}
