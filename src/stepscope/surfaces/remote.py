"""What surfaces add to a recording from outside: the step time of a short one, and its verdict."""

from __future__ import annotations

import contextlib
import math
import tempfile
from pathlib import Path

from stepscope.errors import StepscopeError
from stepscope.session import open as open_session


def step_time_ms(xspace: bytes) -> float | None:
    """Mean step time of a recording given as bytes; None when it shows no steps."""
    with tempfile.TemporaryDirectory(prefix="stepscope-probe-") as folder:
        path = Path(folder) / "probe.xplane.pb"
        path.write_bytes(xspace)
        try:
            with contextlib.closing(open_session(str(path))) as session:
                steps = session.overview_page().steps
        except StepscopeError:
            return None
    mean = steps.time_ms.mean if steps.count else math.nan
    return mean if math.isfinite(mean) and mean > 0 else None


def verdict_of(folder: str) -> str:
    """The first sentence of a run's overview; "" when the run has none."""
    try:
        with contextlib.closing(open_session(folder)) as session:
            return session.overview_page().headline
    except StepscopeError:
        return ""
