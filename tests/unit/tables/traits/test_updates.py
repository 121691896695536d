"""When the steps of an optimizer begin to update."""

from __future__ import annotations

import numpy as np

from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host
from stepscope.tables.traits.updates import after_model
from tests.profiles import space
from tests.profiles.model import Event, line
from tests.profiles.model import host as model_host

BACKWARD = "autograd::engine::evaluate_function: MmBackward0"
HOST = Host("h", decode(space(model_host(line("python", Event(BACKWARD, 20, 30))))))


def spans(*times_us: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.asarray(times_us, np.float64).astype(np.int64) * 1_000_000


def test_a_backward_pass_without_any_step_of_an_optimizer_is_nobodys() -> None:
    """As in a file that lost the steps."""
    assert len(after_model(HOST, spans(), spans())) == 0
