"""The runs of a folder whose files say whose they are: ranks of one job, and windows of it."""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from stepscope.formats import FORMATS
from stepscope.formats.format import Identity
from stepscope.formats.kineto.recognise import identity
from stepscope.store.found import Miss, Run, Source
from stepscope.store.identify import GZIP_MAGIC, inflate_head
from stepscope.store.tree import Entry, Tree
from stepscope.utf8 import shown

_SURE: Final = re.compile(r"\.trace\.json(\.gz)?$", re.IGNORECASE)
_RANK_FOLDER: Final = re.compile(r"(rank|worker)[-_=]?\d{1,5}", re.IGNORECASE)
_GUESS: Final = (
    "No file says which rank it is of, so ranks are numbered in the order of their processes."
)


def promises(name: str) -> bool:
    """Whether the name alone makes a trace likely enough to look at the file."""
    return bool(_SURE.search(name))


def copy_of_recording(entry: Entry) -> Miss:
    """Why a trace beside XSpaces is not opened."""
    return Miss(
        entry.path,
        "chrome-trace",
        "A trace (JSON) beside an XSpace. TensorFlow and JAX write it from the same recording, cut "
        "at a million events.",
        "Open the .xplane.pb of the same recording; give the trace's own path to open it anyway.",
        entry.size_bytes,
    )


def gathered(folders: Mapping[str, Sequence[Entry]]) -> dict[str, list[tuple[Entry, str]]]:
    """The traces of each run's folder, each with the name that tells whose it is.

    Where the ranks of a job have a folder each (``rank_0/trace.json``), their run has the folder
    above, and a rank's name begins with its folder's.
    """
    of_rank = [one for one in folders if _RANK_FOLDER.fullmatch(posixpath.basename(one))]
    siblings = Counter(posixpath.dirname(one) for one in of_rank)
    found: dict[str, list[tuple[Entry, str]]] = defaultdict(list)
    for folder, entries in folders.items():
        above, own = posixpath.split(folder)
        if folder in of_rank and siblings[above] > 1 and above not in folders:
            found[above] += [(entry, f"{own}_{entry.name}") for entry in entries]
        else:
            found[folder] += [(entry, entry.name) for entry in entries]
    return found


def runs(
    tree: Tree, folder: str, name: str, entries: Sequence[tuple[Entry, str]], format_: str
) -> list[Run]:
    """The runs of one folder.

    Args:
        tree: Where it is.
        folder: Its path.
        name: What a run is called that has the folder for itself.
        entries: Its files, and the names that tell whose they are.
        format_: Their format, one that tells whose a file is.
    """
    from stepscope.formats.ranks import windows

    count = len(entries)
    names = {entry.path: name for entry, name in entries}
    files = [entry for entry, _ in entries]
    whose = tree.map_entries(
        lambda entry: _identity(tree, entry, names[entry.path], count, format_), files
    )
    found = windows(list(zip(files, whose, strict=True)))
    result = []
    for window in found:
        sources = tuple(
            Source(
                one.file.path,
                shown(one.host),
                one.file.size_bytes,
                one.file.modified,
                format_,
                _GUESS if one.is_guess else "",
            )
            for one in window.files
        )
        run = f"{name}/{window.name}" if window.name else name
        result.append(Run(run, folder, sources))
    return result


def _identity(tree: Tree, entry: Entry, name: str, count: int, format_: str) -> Identity:
    """Whose a file is; only where several could belong together its bytes are asked."""
    known = FORMATS[format_]
    whose = known.whose or identity
    if count == 1:
        return whose(name, b"")
    try:
        first = tree.head(entry, known.head_bytes)
    except OSError:
        first = b""
    if first.startswith(GZIP_MAGIC):
        first = inflate_head(first, 16 * known.head_bytes)
    return whose(name, first)
