"""Additions to a recording from outside: the step time of a short one, and its verdict."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from stepscope.errors import StepscopeError
from stepscope.session import open as open_session
from stepscope.tables.steps.attribution import found_steps

_PS_PER_MS = 1e9


def step_time_ms(xspace: bytes) -> float | None:
    """Mean time from one step's begin to the next one's; None when fewer than two are seen.

    What a program does between its steps takes as much of a recording as the steps themselves.
    """
    with tempfile.TemporaryDirectory(prefix="stepscope-probe-") as folder:
        path = Path(folder) / "probe.xplane.pb"
        path.write_bytes(xspace)
        try:
            with contextlib.closing(open_session(str(path))) as session:
                found = [found_steps(host) for host in session.profile.hosts]
        except StepscopeError:
            return None
    starts_ps = [each.start_ps for each in found if each is not None and len(each) > 1]
    if not starts_ps:
        return None
    first = starts_ps[0]
    return float(first[-1] - first[0]) / (len(first) - 1) / _PS_PER_MS


def verdict_of(folder: str) -> str:
    """The first sentence of a run's overview; "" when the run has none."""
    try:
        with contextlib.closing(open_session(folder)) as session:
            return session.overview_page().headline
    except StepscopeError:
        return ""
