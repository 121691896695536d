"""Files of one folder as runs: ranks of one job side by side, one after another in time.

Files belong together if they say that they are of one job (``world_size``), or if their names
differ only in what tells ranks and processes apart. The same process twice is two windows of its
run. What belongs to nothing is a run of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Generic, TypeVar

from stepscope.formats.format import Identity
from stepscope.records import dataclass

File = TypeVar("File")


@dataclass(frozen=True, slots=True)
class RankFile(Generic[File]):
    """A file with the place it has in a run.

    Attributes:
        file: The file.
        host: What its process is called: unique in the run.
        is_guess: Whether its rank is only guessed, from the order of processes.
    """

    file: File
    host: str
    is_guess: bool


@dataclass(frozen=True, slots=True)
class FileGroup(Generic[File]):
    """Files that were recorded together.

    Attributes:
        name: Of the window in its folder; "" where it is the only one.
        files: By rank.
    """

    name: str
    files: tuple[RankFile[File], ...]


def windows(files: Sequence[tuple[File, Identity]]) -> list[FileGroup[File]]:
    """The runs of a folder, in order of time."""
    groups: dict[object, list[tuple[File, Identity]]] = defaultdict(list)
    for number, (file, who) in enumerate(files):
        groups[_job(who, number)].append((file, who))
    found: list[FileGroup[File]] = []
    for group in groups.values():
        parts = _windows(group)
        for number, part in enumerate(parts):
            name = "" if len(groups) == len(parts) == 1 else _name(part, number, len(parts))
            found.append(FileGroup(name, _ranked(part)))
    return found


def _job(who: Identity, number: int) -> object:
    """What files of one job have in common."""
    if who.world_size is not None and who.world_size > 1:
        return ("job", who.world_size, who.stem if not who.process else "")
    if who.rank is not None or who.process or who.time:
        return ("name", who.stem)
    return ("alone", number)


def _process(who: Identity) -> object:
    if who.rank is not None:
        return who.rank
    return who.process or who.label


def _windows(group: list[tuple[File, Identity]]) -> list[list[tuple[File, Identity]]]:
    """The windows of one job: each process is in each once."""
    of_process: dict[object, list[tuple[File, Identity]]] = defaultdict(list)
    for one in sorted(group, key=lambda one: (one[1].time, one[1].label)):
        of_process[_process(one[1])].append(one)
    if len({len(some) for some in of_process.values()}) == 1:
        return [list(part) for part in zip(*of_process.values(), strict=True)]
    parts: list[list[tuple[File, Identity]]] = [[]]
    for one in sorted(group, key=lambda one: (one[1].time, one[1].label)):
        if any(_process(one[1]) == _process(other[1]) for other in parts[-1]):
            parts.append([])
        parts[-1].append(one)
    return parts


def _ranked(part: list[tuple[File, Identity]]) -> tuple[RankFile[File], ...]:
    """The files of a window by rank, with names for their processes."""
    if len(part) == 1 and (part[0][1].world_size or 1) == 1:
        file, who = part[0]
        return (RankFile(file, who.label, False),)
    if all(who.rank is not None for _, who in part):
        digits = len(str(max(who.rank or 0 for _, who in part)))
        ordered = sorted(part, key=lambda one: one[1].rank or 0)
        return tuple(RankFile(file, f"rank{who.rank:0{digits}d}", False) for file, who in ordered)
    if any(who.process and not who.process.isdecimal() for _, who in part):
        named = sorted(part, key=lambda one: one[1].label)
        return tuple(RankFile(file, who.label, False) for file, who in named)
    ordered = sorted(part, key=lambda one: (int(one[1].process or 0), one[1].label))
    digits = len(str(len(part) - 1))
    return tuple(
        RankFile(file, f"rank{number:0{digits}d}", True) for number, (file, _) in enumerate(ordered)
    )


def _name(part: list[tuple[File, Identity]], number: int, count: int) -> str:
    """A window's name: what its first file is called, without what tells ranks apart."""
    first = part[0][1]
    if len(part) == 1:
        return first.label
    stem = first.stem.replace("#", "").strip("._-") or "ranks"
    return f"{stem}-window{number + 1}" if count > 1 else stem
