"""The labels of the collection, as the scorer reads them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any, Final, Literal

HERE: Final = Path(__file__).parent
# The recordings in the tree: a sample for the quick tests, and new ones until they are published.
SAMPLE: Final = HERE / "recordings"

Part = Literal["develop", "score"]


def collection() -> Path | None:
    """The folder of the whole collection; None where it is not on this machine."""
    root = HERE.parents[1]
    given = os.environ.get("STEPSCOPE_COLLECTION", "")
    beside = root.parent / "shared" / "data" / "collection" / "recordings"
    folders = [Path(given)] if given else [beside, root / ".stepscope" / "recordings"]
    return next((folder for folder in folders if folder.is_dir()), None)


@dataclass(frozen=True)
class Label:
    """A program and what is planted in it.

    Attributes:
        program: Its path below ``programs``, without the ending.
        part: Which part all its recordings belong to.
        planted: The fault in words; None: healthy.
        cause: Its class in words.
        accept: Rules that may come first.
        rules: Rules that know this kind of fault: what is taken away to see what is left.
        words: Names that only the true place has: ops, public names of libraries.
        functions: The user's functions that hold the fault.
        lines: Their lines that do.
        repeats: How often a step does the same: nobody could tell such a part from a step.
        is_unsteady: Whether the fault costs much in one run and nothing in the next, as a race for
            a lock does: no saving is measured.
    """

    program: str
    part: Part
    planted: str | None
    cause: str
    accept: tuple[str, ...]
    rules: tuple[str, ...]
    words: tuple[str, ...]
    functions: tuple[str, ...]
    lines: tuple[int, ...]
    repeats: int
    is_unsteady: bool

    @property
    def framework(self) -> str:
        """The folder it lies in."""
        return self.program.split("/")[0]

    def places(self, text: str) -> bool:
        """Whether a text names the true place: a function, a line of the file, or a word."""
        name = re.escape(self.program.split("/")[-1])
        for line in re.findall(rf"\b{name}\.py:(\d+)", text):
            if any(abs(int(line) - planted) <= 1 for planted in self.lines):
                return True
        # The program is named after its fault: the file's name alone says nothing.
        text = re.sub(rf"\b{name}\.py", "", text)
        functions = [one for one in self.functions if one != "main"]
        return any(_names(one, text) for one in (*functions, *self.words))


@dataclass(frozen=True)
class Recorded:
    """One recording and what its program measured.

    Attributes:
        path: The file.
        label: Of its program.
        way, environment: How and with what it was recorded.
        is_busy: Whether two loops took a core each meanwhile.
        steps: Steps within the recording.
        step_ms: Their mean, from the begin of one to the begin of the next.
        saving_frac: The share of a step that goes when the fault goes, measured unrecorded;
            NaN where it is not steady.
    """

    path: Path
    label: Label
    way: str
    environment: str
    is_busy: bool
    steps: int
    step_ms: float
    saving_frac: float

    @property
    def name(self) -> str:
        """Program and recording."""
        return f"{self.label.program} {self.path.name.split('.xplane')[0].split('.pt.')[0]}"


def recordings(part: str = "all", only: str = "") -> Iterator[Recorded]:
    """The recordings of a part, by program: the whole collection where it is, and the sample."""
    whole = collection()
    for program in sorted(set(_programs(SAMPLE)) | set(_programs(whole) if whole else ())):
        known: dict[str, Recorded] = {}
        for folder in (whole, SAMPLE):
            if folder is not None:
                known |= {recorded.name: recorded for recorded in _recordings_in(folder / program)}
        for name in sorted(known):
            if part in ("all", known[name].label.part) and only in f"{program} {name}":
                yield known[name]


def sample() -> Iterator[Recorded]:
    """The recordings in the tree, by program."""
    for program in _programs(SAMPLE):
        yield from _recordings_in(SAMPLE / program)


def _programs(folder: Path) -> list[str]:
    return sorted(
        path.parent.relative_to(folder).as_posix() for path in folder.glob("*/*/label.json")
    )


def _recordings_in(folder: Path) -> Iterator[Recorded]:
    path = folder / "label.json"
    if path.is_file():
        content = json.loads(path.read_text("utf-8"))
        label = _label(content)
        for name, facts in content["recordings"].items():
            yield _recorded(folder / name, label, facts)


def _label(said: dict[str, Any]) -> Label:
    names = ("accept", "rules", "words", "functions", "lines")
    lists = {name: tuple(said[name]) for name in names}
    return Label(
        said["program"],
        said["part"],
        said["planted"],
        said["cause"],
        **lists,
        repeats=said.get("repeats", 1),
        is_unsteady=said.get("unsteady", False),
    )


def _recorded(path: Path, label: Label, known: dict[str, Any]) -> Recorded:
    return Recorded(
        path,
        label,
        known["way"],
        known["environment"],
        known["busy"],
        known["steps"],
        known["step_ms"],
        _saving_frac(label, known),
    )


def _saving_frac(label: Label, known: dict[str, Any]) -> float:
    if label.planted is None:
        return 0.0
    return nan if label.is_unsteady else float(known["saving_ms"] / known["faulty_ms"])


def _names(word: str, text: str) -> bool:
    # Of PyTorch's ops both spellings are one name: as it records them, and as op tables do.
    word, text = word.replace("aten::", "aten/"), text.replace("aten::", "aten/")
    # "dot" is not in "dotted" nor in "pivot"; "MatMul" is in "_FusedMatMul_3".
    before = "" if word[:1].isupper() else r"(?<![A-Za-z])"
    return re.search(rf"{before}{re.escape(word)}(?![a-z])", text) is not None
