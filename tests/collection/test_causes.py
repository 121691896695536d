"""The cause that advice names, where its place alone would count as right."""

from __future__ import annotations

import pytest

import stepscope
from tests.collection.labels import Recorded, collection, recordings

pytestmark = [
    pytest.mark.collection,
    pytest.mark.skipif(collection() is None, reason="the collection is not on this machine"),
]

#: The cause that a finding has, by program.
CAUSES = {"jax/cache_not_given_away": "part-copied-argument"}
ALL = [recorded for recorded in recordings() if recorded.label.program in CAUSES]


def test_each_cause_has_recordings() -> None:
    assert {recorded.label.program for recorded in ALL} == set(CAUSES)


@pytest.mark.parametrize("recorded", ALL, ids=[recorded.name for recorded in ALL])
def test_a_finding_has_the_cause(recorded: Recorded) -> None:
    with stepscope.open(recorded.path) as session:
        causes = {finding.cause for finding in session.advice().findings}
    assert CAUSES[recorded.label.program] in causes
