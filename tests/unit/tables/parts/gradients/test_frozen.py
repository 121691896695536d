"""The time of gradients that change nothing, from the runs of the ops that compute them."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.account.account import account
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.gradients.frozen import FrozenGradients, frozen_gradients
from tests.profiles import draw, event, space
from tests.profiles.drawing import Drawn
from tests.profiles.hlo import metadata_plane, program
from tests.profiles.model import u
from tests.unit.tables.account.test_account import STEP
from tests.unit.tables.traits.test_unread_gradients import clipped


def ran(op: str) -> Drawn:
    return event(op, hlo_op=op, program_id=u(7))


def found_in(pool: str, **events: Drawn) -> FrozenGradients | None:
    """Steps of 1 ms, 100 µs a character."""
    drawn = draw(
        f"""
        /host:CPU
          python        S---------S---------
          tf_XLAEigen   {pool * 2}
        """,
        unit_us=100,
        S=STEP,
        **events,
    )
    plane = metadata_plane(("jit_step", 7, program("jit_step", clipped())))
    host = Host("h", decode(space(plane, *drawn)))
    made = account(host)
    assert made is not None
    return frozen_gradients(host, made)


def test_the_runs_of_the_ops_that_compute_them_are_their_time() -> None:
    found = found_in(".HHHTT....", H=ran("d_head"), T=ran("d_trunk"))
    assert found is not None
    assert found.time_ps == pytest.approx(2 * 200_000_000)
    assert (found.ops, found.op, found.place) == (1, "d_trunk", None)
    assert found.kept == ("params['trunk']",)


@pytest.mark.parametrize("ops", [{"H": ran("d_head")}, {"H": event("thread")}])
def test_where_none_of_them_ran_there_is_none(ops: dict[str, Drawn]) -> None:
    """Or where no op at all was recorded, only what its program is."""
    assert found_in(".HHH......", **ops) is None
