"""The recordings in the tree, and the labels of the collection."""

from __future__ import annotations

import hashlib

from tests.collection.labels import SAMPLE, Label, sample
from tests.collection.record import takes
from tests.collection.score import judge, line_of
from tests.collection.store import manifest

ALL = tuple(sample())
FILES = sorted(SAMPLE.rglob("*.gz"))
MAX_RECORDING_BYTES, MAX_TREE_BYTES = 100_000, 8_000_000
# Half as much again as in the whole collection: sixty recordings are few.
MAX_WRONG_FRAC = 0.09


def test_every_file_has_a_label_and_every_label_a_file() -> None:
    assert sorted(recorded.path for recorded in ALL) == FILES


def test_the_recipe_makes_every_recording() -> None:
    assert {recorded.name for recorded in ALL} <= {
        f"{take.program} {take.stem}" for take in takes()
    }


def test_recordings_in_the_tree_stay_small() -> None:
    sizes = {path.name: path.stat().st_size for path in FILES}
    assert {name: size for name, size in sizes.items() if size > MAX_RECORDING_BYTES} == {}
    assert sum(path.stat().st_size for path in FILES) <= MAX_TREE_BYTES


def test_published_recordings_in_the_tree_are_those_of_the_manifest() -> None:
    published = manifest()
    for path in FILES:
        name = path.relative_to(SAMPLE).as_posix()
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert published.get(name, digest) == digest, name


def test_only_developed_recordings_are_in_the_tree() -> None:
    assert {recorded.label.part for recorded in ALL} == {"develop"}


def test_a_fault_has_lines_and_words() -> None:
    faulty = [recorded.label for recorded in ALL if recorded.label.planted is not None]
    assert [label.program for label in faulty if not (label.lines and label.words)] == []


def test_first_findings_are_the_planted_faults() -> None:
    judged = [judge(recorded) for recorded in ALL]
    wrong = [line_of(one) for one in judged if one.is_faulty and not one.is_right]
    assert [(one.recorded.name, one.failed) for one in judged if one.failed] == []
    assert [line_of(one) for one in judged if one.alarms and not one.is_faulty] == []
    assert len(wrong) <= MAX_WRONG_FRAC * len(ALL), "\n".join(wrong)


def test_a_word_is_not_found_within_another() -> None:
    label = Label("x/y", "develop", "a", "b", (), (), ("dot", "MatMul"), ("f",), (7,), 1, False)
    assert label.places("dot.3") and label.places("_FusedMatMul_1") and label.places("y.py:8")
    assert not label.places("dotted pivot y.py:17 functions")


def test_the_name_of_the_file_is_no_place() -> None:
    label = Label("x/dot", "develop", "a", "b", (), (), ("dot",), ("f",), (7,), 1, False)
    assert not label.places("main (dot.py:17)")
    assert label.places("dot (dot.py:17)") and label.places("main (dot.py:7)")
