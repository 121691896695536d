"""``python lint/words.py``: phrases that must not come back, in every text a person reads.

``words.txt`` beside this file has one pattern a line with what to write instead.
"""

from __future__ import annotations

import re
import subprocess
import sys
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = {".css", ".html", ".md", ".py", ".pyi", ".toml", ".ts", ".tsx", ".txt"}
# What quotes the phrases, and what records the past.
LEFT_OUT = {"lint/words.txt", "tests/architecture/test_words.py", "LICENSE"}


class Phrase(NamedTuple):
    """A pattern and what to write instead."""

    pattern: re.Pattern[str]
    better: str


class Place(NamedTuple):
    """Where a file has a phrase."""

    line: int
    words: str
    better: str


def phrases(text: str) -> list[Phrase]:
    """The phrases of a word list; empty lines and lines that begin with # are skipped."""
    found = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, arrow, better = line.partition("=>")
            if not arrow:
                raise ValueError(f"no => in {line!r}")
            found.append(Phrase(re.compile(pattern.strip(), re.IGNORECASE), better.strip()))
    return found


def places(text: str, wanted: list[Phrase]) -> Iterator[Place]:
    """Every place of a text that has one of the phrases, line breaks within a phrase included."""
    plain, breaks = _one_line(text)
    for phrase in wanted:
        for match in phrase.pattern.finditer(plain):
            yield Place(bisect_left(breaks, match.start()) + 1, match[0], phrase.better)


def _one_line(text: str) -> tuple[str, list[int]]:
    """A text with a blank for each line break, comment signs included; where the breaks were."""
    parts = re.split(r"\n[ \t]*(?:#|//|\*)?[ \t]*", text)
    return " ".join(parts), [end - 1 for end in accumulate(len(part) + 1 for part in parts)]


def files() -> Iterator[Path]:
    """The files of the repository that people read, relative to its root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.split("\0"):
        path = Path(name)
        if path.suffix in SUFFIXES and name not in LEFT_OUT and (ROOT / path).is_file():
            yield path


def main(arguments: list[str]) -> int:
    """Print every place; exit code 1 where there is one."""
    wanted = phrases((ROOT / "lint" / "words.txt").read_text("utf-8"))
    count = 0
    for path in map(Path, arguments) if arguments else files():
        for place in sorted(places((ROOT / path).read_text("utf-8"), wanted)):
            print(f"{path}:{place.line}: {place.words!r}: write {place.better or 'nothing'}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
