"""Every fault that a review found is held by a test: ``tests/reviews.toml`` is the table."""

from __future__ import annotations

import re
import subprocess
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
# The commit that was reviewed: what fixes its faults comes after it.
REVIEWED = "47f44e9"
# How many faults each review lists: D1 to D12 with its parts, and so on.
NUMBERED = {
    "hostile": [f"D{number}" for number in range(1, 13)],
    "diagnosis": [str(number) for number in range(1, 13)],
    "profiles": [f"D{number}" for number in range(1, 15)],
    "code": [str(number) for number in range(1, 21)],
    "ui": [str(number) for number in range(1, 29)],
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
    wrong = [f"{at}: {problem}" for at, one in FAULTS.items()
             for problem in map(missing, one["tests"]) if problem]  # fmt: skip
    assert not wrong
    assert all(one["tests"] and one["fault"] for one in FAULTS.values())


def test_a_test_that_is_gone_is_noticed() -> None:
    assert missing("unit/test_result.py::test_that_never_was") == (
        "unit/test_result.py has no test_that_never_was"
    )
    assert missing("unit/test_never.py") == "there is no unit/test_never.py"
    assert missing("web/src/api/client.test.ts::no such title")


@pytest.mark.parametrize("at", FAULTS)
def test_a_fault_has_the_commit_that_brought_one_of_its_tests(at: str) -> None:
    fault = FAULTS[at]
    if "commit" not in fault:
        assert fault.get("open") or fault.get("none")
        return
    if not git("cat-file", "-t", REVIEWED):
        pytest.skip("not a clone with its history")
    commit = fault["commit"]
    assert git("merge-base", REVIEWED, commit) == git("rev-parse", REVIEWED), "after the review"
    # A commit that no branch holds is still in the clone that made it, and in no other.
    assert git("merge-base", "HEAD", commit) == git("rev-parse", commit), "part of this branch"
    words = [test.rpartition("::")[2] for test in fault["tests"] if "::" in test]
    paths = [f"tests/{test}" for test in fault["tests"] if "::" not in test]
    assert git("ls-tree", "--name-only", commit, *paths) if paths else words
    found = [git("grep", "-l", "-F", word, commit, "--", "tests", "web/src") for word in words]
    assert any(found) or paths


def git(*arguments: str) -> list[str]:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return []
    return done.stdout.split()
