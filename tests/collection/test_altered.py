"""The alterations themselves: what is cut, thinned and renamed, and what stays."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.columns.space import Space
from stepscope.formats.xspace import decode
from stepscope.formats.xspace.encode import encode
from tests.collection.altered import CHANGES, Change
from tests.profiles import host, line, space

EVENTS = [(f"model/dense/MatMul_{at}", 10 * at, 8) for at in range(30)]
CALLS = [("$slow.py:3 main", 0, 300), *[("$slow.py:9 work", 10 * at, 5) for at in range(30)]]


def recording() -> Space:
    data = space(host(line("python", *CALLS), line("tf_pool", *EVENTS)))
    return decode(data)


def altered(name: str) -> Space:
    change = next(one for one in CHANGES if one.name == name)
    return decode(encode(change.make(recording(), "slow")))


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.name)
def test_every_change_gives_a_recording_that_can_be_read(change: Change) -> None:
    found = altered(change.name)
    assert found.damage is None
    assert 0 < len(found.events) <= len(recording().events)


def test_a_cut_keeps_the_calls_that_were_open() -> None:
    whole, found = recording(), altered("front third cut")
    names = [found.event_metadata.name[at] for at in found.events.metadata.tolist()]
    assert "$slow.py:3 main" in names
    assert 0.6 < len(found.events) / len(whole.events) < 0.72


def test_a_slower_machine_takes_longer_for_all() -> None:
    whole, found = recording(), altered("machine 3 x slower")
    assert np.array_equal(found.events.duration_ps, 3 * whole.events.duration_ps)


def test_samples_that_are_missed_are_the_shortest_innermost() -> None:
    whole, found = recording(), altered("half of the samples")
    assert "$slow.py:3 main" in found.event_metadata.name
    assert len(whole.events) - 25 < len(found.events) < len(whole.events) - 5


def test_renamed_scopes_keep_the_type_of_their_ops() -> None:
    assert "net_7/model/dense_7/MatMul_0" not in altered("scopes renamed").event_metadata.name
    assert "net_7/model/dense/MatMul_0_7" in altered("scopes renamed").event_metadata.name
