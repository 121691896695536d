"""What a file format says of itself, so that files of it are found and opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from stepscope.columns.space import Space
from stepscope.records import dataclass


class Input(Protocol):
    """The inflated bytes of a file, wherever it is."""

    def __iter__(self) -> Iterator[bytes]:
        """The bytes from begin to end, piece by piece, once."""

    def on_disk(self) -> AbstractContextManager[Path]:
        """The bytes as a file of this machine, for readers that jump to and fro.

        The file itself where that will do, else a copy that goes with the context.
        """


class Peek(Protocol):
    """Parts of a file, inflated, wherever it is: what a quick look may ask for."""

    def at(self, begin: int, size: int) -> bytes:
        """Bytes from a place on; fewer where the file ends, or looking there costs too much."""

    def tail(self, size: int) -> bytes:
        """The last bytes; none of a compressed file."""

    def on_disk(self, tables: str) -> AbstractContextManager[Path]:
        """The file on this machine.

        Of a database that is large and far away, or compressed, its begin and the first pages of
        tables whose names begin with ``tables``, in a file of its size.

        Raises:
            StepscopeError: It is far away or compressed, and no database.
        """


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose recording a file is, as far as name and first bytes tell.

    Attributes:
        stem: What the name has in common with those of other ranks: numbers are left out.
        label: The name without its endings.
        rank: Of the process in its job; None if unknown.
        world_size: Processes of the job; None if unknown.
        process: Its number, or another text that is its alone, as the name has it; "" if unknown.
        time: When, as the name has it: only to be compared. 0 if unknown.
    """

    stem: str
    label: str
    rank: int | None
    world_size: int | None
    process: str
    time: int


@dataclass(frozen=True, slots=True)
class Format:
    """A file format other than XSpace.

    Attributes:
        id: Its name in ``Source.format``.
        title: What a person calls such a file.
        head_bytes: How many first bytes of a file tell whether it is one.
        promises: Whether a file of this name may be one; its bytes tell.
        starts: Whether these first bytes (inflated) are the start of one. A file that it refuses
            never reaches ``open``, which alone can explain what is wrong with it.
        open: (the file, its name for reports) → the columns; raises ``DecodeError`` or
            ``FormatError``.
        writer: Who wrote a file, with versions, as far as a quick look tells; "" unknown. Raises
            what ``open`` does.
        whose: (a file's name, its first bytes) → whose of a job it is: files of one folder are put
            together into runs by it. None where each file is a run by itself.
        is_table: Whether a file of this name is a table of a recording that is a whole folder. The
            folder of such a file is the recording, and ``Input.on_disk`` gives its path. None
            where recordings are files.
    """

    id: str
    title: str
    head_bytes: int
    promises: Callable[[str], bool]
    starts: Callable[[bytes], bool]
    open: Callable[[Input, str], Space]
    writer: Callable[[Peek], str] = lambda _: ""
    whose: Callable[[str, bytes], Identity] | None = None
    is_table: Callable[[str], bool] | None = None
