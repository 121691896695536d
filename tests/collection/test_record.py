"""The recipe's own parts: where a fault is, and what is to be recorded."""

from __future__ import annotations

from collections import Counter

from tests.collection.programs.clock import WAYS
from tests.collection.record import ENVIRONMENTS, HERE, label_of, planted_places, takes
from tests.collection.score import CAUSES

SOURCE = """
LABEL = {}

class Net:
    def forward(self, x):
        def inner():
            return x + 1  # planted
        return inner()

def main(clock):
    slow()  # planted
    fast()
"""


def test_a_place_is_the_innermost_function_of_a_marked_line() -> None:
    assert planted_places(SOURCE) == {"lines": [7, 11], "functions": ["inner", "main"]}


def test_every_take_is_of_a_program_a_way_and_an_environment() -> None:
    for take in takes():
        assert (HERE / "programs" / f"{take.program}.py").is_file()
        assert take.environment in ENVIRONMENTS
        assert take.way in WAYS


def test_no_take_is_made_twice_and_no_program_is_forgotten() -> None:
    count = Counter((take.program, take.stem) for take in takes())
    assert [take for take, times in count.items() if times > 1] == []
    folder = HERE / "programs"
    programs = {
        path.relative_to(folder).with_suffix("").as_posix() for path in folder.glob("*/*.py")
    }
    assert programs == {take.program for take in takes()}


def test_enough_programs_are_healthy_or_of_a_kind_that_no_rule_claims() -> None:
    labels = [label_of(program) for program in sorted({take.program for take in takes()})]
    faulty = [label for label in labels if label["planted"]]
    unclaimed = [label for label in faulty if not CAUSES & set(label["accept"])]
    assert len(labels) - len(faulty) >= 0.15 * len(labels)
    # Who has not read the rules accepts each whose claim would be true of a fault.
    assert len(unclaimed) >= 0.4 * len(faulty)
