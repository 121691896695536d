"""Advice names the planted cause first, and leaves healthy programs alone."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.labelled import Labelled, jax_programs, live, tf_programs
from tests.labelled.confusion import Judged, judge, matrix
from tests.labelled.synthetic import PROFILES
from tests.measured import TRIES

# Of 40 profiles with a fault, 38: one in twenty may be a matter of opinion.
RIGHT_FRAC = 38 / 40


def right_frac(judged: list[Judged]) -> float:
    return sum(one.is_right for one in judged) / len(judged)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[Judged]:
    if find_spec("tensorflow") is None and find_spec("jax") is None:
        pytest.skip("neither TensorFlow nor JAX is installed")
    folder = tmp_path_factory.mktemp("labelled")
    right: dict[str, Judged] = {}
    for attempt in range(TRIES):
        judged = [judge(label) for label in live.record(folder) if label.name not in right]
        right |= {one.label.name: one for one in judged if one.is_right}
        wrong = [one for one in judged if not one.is_right]
        if not wrong or attempt == TRIES - 1:
            return [*right.values(), *wrong]
        for one in wrong:
            live.again(folder, one.label.name)
    raise AssertionError("unreachable")


def faults(judged: list[Judged]) -> list[Judged]:
    return [one for one in judged if one.label.expected is not None]


def healthy(judged: list[Judged]) -> list[Judged]:
    return [one for one in judged if one.label.expected is None]


def test_the_suite_is_large_enough() -> None:
    planted = [one for one in PROFILES if one.expected is not None]
    programs = {**tf_programs.EXPECTED, **jax_programs.EXPECTED}
    assert len(planted) + sum(one is not None for one in programs.values()) >= 40
    names = [one.name for one in PROFILES] + list(programs)
    assert len(set(names)) == len(names)


@pytest.mark.slow
@pytest.mark.measured
@pytest.mark.framework_tf
@pytest.mark.framework_jax
def test_the_planted_cause_of_a_recorded_program_comes_first(recorded: list[Judged]) -> None:
    assert right_frac(faults(recorded)) >= RIGHT_FRAC, matrix(recorded)


@pytest.mark.slow
@pytest.mark.measured
@pytest.mark.framework_tf
@pytest.mark.framework_jax
def test_a_healthy_recorded_program_gets_nothing_above_info(recorded: list[Judged]) -> None:
    assert right_frac(healthy(recorded)) == 1, matrix(recorded)


@pytest.mark.slow
@pytest.mark.measured
@pytest.mark.framework_tf
@pytest.mark.framework_jax
def test_no_rule_breaks_on_a_recorded_program(recorded: list[Judged]) -> None:
    assert {one.label.name: one.failed for one in recorded if one.failed} == {}


def test_the_matrix_shows_what_is_wrong() -> None:
    label = Labelled("one", "serial-map", dict)
    wrong, right = Judged(label, "no-cache", ("no-cache",), ()), Judged(label, "serial-map", (), ())
    assert not wrong.is_right
    assert right.is_right
    text = matrix([wrong, right])
    assert "planted cause first in 1 of 2" in text
    assert "one: planted serial-map, found no-cache" in text
