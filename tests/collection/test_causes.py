"""The cause that advice names, where its place alone would count as right."""

from __future__ import annotations

import pytest

import stepscope
from tests.collection.labels import Recorded, collection, recordings

pytestmark = [
    pytest.mark.collection,
    pytest.mark.skipif(collection() is None, reason="the collection is not on this machine"),
]

#: Words of a finding, by program.
SAID = {
    "jax/cache_not_given_away": "to write into it",
    "jax/exponential_for_each_gap": "expm",
    "torch/exponential_for_each_lag": "matrix_exp",
}
ALL = [one for one in recordings() if one.label.program in SAID]


def test_each_cause_has_recordings() -> None:
    assert {one.label.program for one in ALL} == set(SAID)


@pytest.mark.parametrize("one", ALL, ids=[one.name for one in ALL])
def test_a_finding_names_the_cause(one: Recorded) -> None:
    with stepscope.open(one.path) as session:
        said = [finding.message for finding in session.advice().findings]
    assert any(SAID[one.label.program] in text for text in said)
