"""What advice says of a cause, where the place alone would count as right."""

from __future__ import annotations

import pytest

import stepscope
from tests.collection.labels import Recorded, collection, recordings

pytestmark = [
    pytest.mark.collection,
    pytest.mark.skipif(collection() is None, reason="the collection is not on this machine"),
]

#: By program: what a finding about it says. Of recordings by other recorders than ours TensorFlow's
#: graphs are unknown.
SAID = {
    "jax/attends_without_softmax": "in the other order that takes",
    "jax/hops_by_squares": "in the other order that takes",
    "jax/encodes_each_copy": "copies of the same",
    "jax/factors_each_copy": "copies of the same",
    "jax/edges_among_all_pairs": "of it is read",
    "jax/all_positions_for_one_word": "is read",
    "jax/cache_not_given_away": "to write into it",
    "jax/exponential_for_each_gap": "expm",
    "torch/exponential_for_each_lag": "matrix_exp",
    "torch/scores_of_all_entities": "takes one value in 375",
    "tensorflow/powers_before_signals": "in the other order that takes",
}
ALL = [
    one
    for one in recordings()
    if one.label.program in SAID and ("stepscope" in one.way or one.label.framework != "tensorflow")
]


def test_each_cause_has_recordings() -> None:
    assert {one.label.program for one in ALL} == set(SAID)


@pytest.mark.parametrize("one", ALL, ids=[one.name for one in ALL])
def test_a_finding_says_the_cause(one: Recorded) -> None:
    with stepscope.open(one.path) as session:
        said = [finding.message for finding in session.advice().findings]
    assert any(SAID[one.label.program] in text for text in said)
