"""Every fault that a review found is held by a test: ``tests/reviews.toml`` is the table."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.architecture.tree import ROOT

tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11 or newer")

TABLE: dict[str, dict[str, Any]] = tomllib.loads(
    (ROOT / "tests" / "reviews.toml").read_text("utf-8")
)
FAULTS = {
    f"{review}.{number}": fault
    for review, faults in TABLE.items()
    for number, fault in faults.items()
}
# How many faults each review lists: D1 to D12 with its parts, and so on.
NUMBERED = {
    "hostile": [f"D{number}" for number in range(1, 13)] + [f"H{number}" for number in range(1, 7)],
    "diagnosis": [str(number) for number in range(1, 13)],
    "profiles": [f"D{number}" for number in range(1, 15)],
    "code": [str(number) for number in range(1, 21)],
    "ui": [str(number) for number in range(1, 29)],
    # Its sections: decisions, two numbers, evidence, advice, memory, promises, files of strangers.
    "truth": [
        f"{letter}{number}"
        for letter, count in zip("TNEAMPF", (13, 6, 4, 9, 3, 17, 5), strict=True)
        for number in range(1, count + 1)
    ],
}


def missing(test: str) -> str:
    """What is not there of a test as the table names it; empty if all is."""
    name, _, title = test.partition("::")
    path = (ROOT if name.startswith("web/") else ROOT / "tests") / name
    if not path.is_file():
        return f"there is no {name}"
    wanted = f'test("{title}"' if path.suffix == ".ts" else f"def {title}("
    return f"{name} has no {title}" if title and wanted not in path.read_text("utf-8") else ""


@pytest.mark.parametrize("review", NUMBERED)
def test_no_fault_of_a_review_is_left_out(review: str) -> None:
    listed = {re.sub(r"(?<=\d)[a-z]$", "", number) for number in TABLE[review]}
    assert set(NUMBERED[review]) <= listed


def test_every_fault_is_held_by_tests_that_exist() -> None:
    wrong = [
        f"{at}: {problem}"
        for at, one in FAULTS.items()
        for problem in map(missing, one["tests"])
        if problem
    ]
    assert not wrong
    assert all(one["fault"] for one in FAULTS.values())
    answered = ("tests", "none", "open")
    assert all(any(one.get(answer) for answer in answered) for one in FAULTS.values())


def test_a_test_that_is_gone_is_noticed() -> None:
    assert missing("unit/test_result.py::test_that_never_was") == (
        "unit/test_result.py has no test_that_never_was"
    )
    assert missing("unit/test_never.py") == "there is no unit/test_never.py"
    assert missing("web/src/api/client.test.ts::no such title")
