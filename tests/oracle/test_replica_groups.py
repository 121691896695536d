"""Replica groups of a real program: a sum over four pairs of eight TPUs, of which four recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepscope
from stepscope.summary.build import summarise
from stepscope.tables.hlo.modules import hlo_modules
from stepscope.tables.hlo.replica_groups import collectives_of

FILE = Path(__file__).parents[3] / "shared/data/xplane/jax-tpu-v6e-4/tpu_inference_2.xplane.pb"

pytestmark = pytest.mark.skipif(not FILE.exists(), reason="needs ../shared/data/xplane")


def test_the_groups_of_a_real_program_are_read_and_not_assigned_by_guess() -> None:
    with stepscope.open(FILE) as session:
        (host,) = session.profile.hosts
        found = [one for module in hlo_modules(host) for one in collectives_of(module).values()]
        summary = summarise(host)
    (one,) = found
    assert (one.opcode, one.channel) == ("all-reduce", 1)
    assert one.groups == ((0, 4), (1, 5), (2, 6), (3, 7))
    # Which of eight the four recorded are nothing says.
    assert summary.communicators["is_guess"].tolist() == [True]
