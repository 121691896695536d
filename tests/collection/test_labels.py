"""The collection is whole: every recording has a label, and there are enough of every kind."""

from __future__ import annotations

from collections import Counter

import pytest

import stepscope
from tests.collection.labels import RECORDINGS, Label, Recorded, recordings
from tests.collection.record import takes

ALL = tuple(recordings())
FILES = sorted(path for path in RECORDINGS.rglob("*.gz"))


def test_every_file_has_a_label_and_every_label_a_file() -> None:
    assert sorted(one.path for one in ALL) == FILES


def test_the_recipe_makes_what_is_there() -> None:
    known = {(take.program, take.stem) for take in takes()}
    made = {(one.label.program, one.path.name.split(".xplane")[0].split(".pt.")[0]) for one in ALL}
    assert made <= known


def test_the_collection_stays_small() -> None:
    """It grows by recordings, not by their sizes: 25 MB for the first 240.

    Beside a GPU each op is recorded three times: in Python, as a launch and as a kernel.
    """
    with_gpu = sum("_gpu" in path.parts[-3] for path in FILES)
    most = 25e6 / 240 * (len(FILES) - with_gpu) + 0.35e6 * with_gpu
    assert sum(path.stat().st_size for path in FILES) < most


def test_a_fault_says_where_it_is() -> None:
    faulty = [one.label for one in ALL if one.label.planted is not None]
    assert [label.program for label in faulty if not (label.lines and label.words)] == []


def test_parts_are_split_by_program() -> None:
    """What was once looked at is developed on; what is only scored is new."""
    count = Counter(one.label.part for one in ALL)
    assert count["develop"] > len(ALL) / 2
    assert count["develop"] + count["score"] == len(ALL)


@pytest.mark.parametrize("one", ALL, ids=[one.name for one in ALL])
def test_a_recording_opens_and_lists_its_events(one: Recorded) -> None:
    with stepscope.open(one.path) as session:
        assert session.events().height > 0


def test_a_word_is_not_found_within_another() -> None:
    label = Label("x/y", "develop", "a", "b", (), (), ("dot", "MatMul"), ("f",), (7,), 1, False)
    assert label.places("dot.3") and label.places("_FusedMatMul_1") and label.places("y.py:8")
    assert not label.places("dotted pivot y.py:17 functions")


def test_the_files_name_is_not_the_place() -> None:
    label = Label("x/dot", "develop", "a", "b", (), (), ("dot",), ("f",), (7,), 1, False)
    assert not label.places("main (dot.py:17)")
    assert label.places("dot (dot.py:17)") and label.places("main (dot.py:7)")
