"""Finding recordings: any layout, nothing skipped in silence.

A run is one folder's recordings, one file per host, wherever the folder is: the standard
``plugins/profile/<run>/<host>.xplane.pb``, hosts side by side, or a single file.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path

from stepscope.errors import StoreError
from stepscope.formats import FORMATS
from stepscope.quantities import count_words
from stepscope.records import dataclass, field
from stepscope.store.found import Found, Miss, Run, Source
from stepscope.store.identify import XSPACE, examine, host_of, promises, promises_xspace
from stepscope.store.local import LocalTree, is_there, unlistable
from stepscope.store.tree import Entry, Tree
from stepscope.urls import is_url
from stepscope.utf8 import shown

MAX_DEPTH = 16
MAX_ENTRIES = 200_000
_NEVER_PROFILES = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "site-packages"}
)
_SHOWN_PER_REASON = 5
# How exporters end the names of folders of tables.
# The format of traces, which lie beside XSpaces of the same recording.
_TRACE = "kineto"
_TABLES = re.compile(r"[._](parquetdir|arrowdir|pqtdir|arwdir)$", re.IGNORECASE)
_EXTENSION = re.compile(r"(\.[A-Za-z][\w-]{0,15})?(\.gz)?$", re.IGNORECASE)


def find(path: str | os.PathLike[str]) -> Found:
    """Search a file, folder or URL; raises ``StoreError`` with the reasons when there is no run."""
    found = search(path)
    if not found.runs:
        raise nothing_found(found)
    return found


def search(path: str | os.PathLike[str]) -> Found:
    """Search a file, folder or URL for recordings.

    Raises:
        StoreError: The path does not exist, or it is one file that is not a recording.
    """
    text = os.fspath(path)
    if is_url(text):
        from stepscope.store.remote import open_tree

        tree, root, one_file = open_tree(text)
        return _look_at_file(tree, one_file) if one_file else _look_at_folder(tree, root)
    try:
        local = Path(text).expanduser().absolute()
        root_path = Path(os.path.realpath(local))
        found = is_there(root_path)
    except (OSError, ValueError, RuntimeError) as error:  # the last: nobody has the home in ~name
        raise _impossible(text, error) from error
    if not found:
        # A link of /proc leads to a pipe (/dev/stdin), though no path of the pipe is there.
        raise _no_file(text) if local.exists() else _absent(local, text)
    if root_path.is_dir():
        return _look_at_folder(LocalTree(root_path), str(root_path))
    status = root_path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise _no_file(text)
    if folder_format(local.name):
        return _look_at_folder(LocalTree(root_path.parent), str(root_path.parent))
    entry = Entry(
        str(root_path), local.name or root_path.name, "file", status.st_size, status.st_mtime
    )
    return _look_at_file(LocalTree(root_path.parent), entry)


def _impossible(text: str, error: Exception) -> StoreError:
    """The error for a path that the system does not even look for."""
    refused = error if isinstance(error, OSError) else OSError(0, str(error))
    miss = unlistable(text, refused)
    return StoreError(
        "The path is not valid on this system.",
        where=text,
        why=miss.reason,
        hint=miss.hint,
        slug=miss.slug,
    )


def _no_file(text: str) -> StoreError:
    return StoreError(
        "This is a pipe, a socket or a device.",
        where=text,
        why="A recording is read by its size and more than once, which only a file allows.",
        hint="Save the bytes as a file and open that.",
        slug="unreadable-path",
    )


def _absent(local: Path, text: str) -> StoreError:
    parent = local
    while not parent.exists() and parent != parent.parent:
        parent = parent.parent
    if local.is_symlink():
        return StoreError(
            "The path is a broken symbolic link.",
            where=text,
            why=f"Its target {os.path.realpath(local)} is not there.",
            hint="Restore the target or give another path.",
            slug="broken-link",
        )
    return StoreError(
        "There is no such file or folder.",
        where=text,
        why=f"{parent} contains no {local.relative_to(parent)}.",
        hint="Check the spelling; give a folder of recordings, or one file: an .xplane.pb, a "
        "*.pt.trace.json or another profiler's.",
        slug="no-such-path",
    )


def _look_at_file(tree: Tree, entry: Entry) -> Found:
    verdict = _verdict(tree, entry, named=True)
    if verdict in FORMATS:
        return _trace_run(entry, str(verdict))
    if isinstance(verdict, Miss):
        raise StoreError(
            "This file is not a recording that can be opened.",
            where=verdict.path,
            why=verdict.reason,
            hint=verdict.hint,
            slug=verdict.slug,
        )
    folder = posixpath.dirname(entry.path.replace(os.sep, "/"))
    grandparent, run = posixpath.split(folder)
    host = shown(host_of(entry.name))
    name = shown(run) if posixpath.basename(grandparent) == "profile" else host
    source = Source(entry.path, host, entry.size_bytes, entry.modified)
    return Found(entry.path, (Run(name, folder, (source,)),), (), folders=0, files=1)


def _trace_run(entry: Entry, format_: str) -> Found:
    label = _label(entry.name)
    if format_ == _TRACE:
        from stepscope.formats.kineto.recognise import identity

        label = identity(entry.name, b"").label
    source = Source(entry.path, label, entry.size_bytes, entry.modified, format_)
    folder = posixpath.dirname(entry.path.replace(os.sep, "/"))
    return Found(entry.path, (Run(label, folder, (source,)),), (), folders=0, files=1)


def _label(name: str) -> str:
    """What a recording of another format is called: its file's name without the ending."""
    return shown(_EXTENSION.sub("", name) or name)


@dataclass
class _Walk:
    """State of one walk: what was found so far and how far it went."""

    tree: Tree
    sources: dict[str, list[tuple[Entry, str]]] = field(default_factory=lambda: defaultdict(list))
    traces: dict[str, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    others: dict[str, list[tuple[Entry, str]]] = field(default_factory=lambda: defaultdict(list))
    tables: dict[tuple[str, str], list[Entry]] = field(default_factory=lambda: defaultdict(list))
    unclear: list[tuple[str, Entry]] = field(default_factory=list)
    misses: list[Miss] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    folders: int = 0
    files: int = 0

    def into(self, root: str) -> None:
        """Look at every entry below ``root``, nearest first, within the limits."""
        level = [root]
        for depth in range(MAX_DEPTH + 1):
            level = [inner for folder in level for inner in self._look(folder)]
            self._judge()
            if self.files > MAX_ENTRIES:
                self.notes.append(
                    f"The search stopped after {MAX_ENTRIES:,} files; open a folder further in "
                    "to see the rest."
                )
                return
            if depth == MAX_DEPTH and level:
                self.notes.append(
                    f"{count_words(len(level), 'folder')} more than {MAX_DEPTH} levels down "
                    f"not searched. The first is {level[0]}."
                )

    def _look(self, folder: str) -> list[str]:
        self.folders += 1
        inner: list[str] = []
        if self.files > MAX_ENTRIES:
            return inner
        try:
            for entry in self.tree.scan(folder):
                if entry.kind == "folder":
                    if entry.name not in _NEVER_PROFILES:
                        inner.append(entry.path)
                    continue
                self.files += 1
                if self.files > MAX_ENTRIES:
                    break
                self._file(folder, entry)
        except OSError as error:
            self.misses.append(unlistable(folder, error))
        return inner

    def _file(self, folder: str, entry: Entry) -> None:
        if entry.miss is not None:
            self.misses.append(entry.miss)
        elif entry.kind == "file" and (format_ := folder_format(entry.name)):
            self.tables[folder, format_].append(entry)
        elif entry.kind == "file":
            self.unclear.append((folder, entry))

    def _judge(self) -> None:
        """Look into the files of a level, all of its folders at once."""
        folders, entries = [one for one, _ in self.unclear], [one for _, one in self.unclear]
        self.unclear = []
        verdicts = self.tree.map_entries(partial(_verdict, self.tree), entries)
        for folder, entry, verdict in zip(folders, entries, verdicts, strict=True):
            if isinstance(verdict, Miss):
                self.misses.append(verdict)
            elif verdict == XSPACE:
                self.sources[folder].append((entry, shown(host_of(entry.name))))
            elif verdict == _TRACE:
                self.traces[folder].append(entry)
            elif verdict:
                self.others[folder].append((entry, verdict))


def _verdict(tree: Tree, entry: Entry, *, named: bool = False) -> Miss | str:
    if tree.remote and not named and not promises(entry.name):
        # A first-bytes read per file of a bucket would cost a round trip each: the name decides.
        return examine(entry.path, entry.name, entry.size_bytes, lambda _: b"")
    try:
        return examine(
            entry.path,
            entry.name,
            entry.size_bytes,
            lambda size: tree.head(entry, size),
            named=named,
        )
    except OSError as error:
        return unlistable(entry.path, error)


def _look_at_folder(tree: Tree, root: str) -> Found:
    walk = _Walk(tree)
    walk.into(root)
    runs = [_run(root, folder, entries, walk.misses) for folder, entries in walk.sources.items()]
    if walk.traces:
        runs += _runs_of_traces(tree, root, walk)
    runs += _runs_of_other_formats(tree, root, walk)
    runs += _table_folder_runs(root, walk)
    if len(runs) > 1:
        from stepscope.store.companions import with_companions

        runs = with_companions(runs)
    ids = _short_ids([run.id for run in runs])
    named: dict[str, Run] = {}
    for run in runs:
        name = _unused(shown(ids[run.id]), named)
        named[name] = Run(name, run.path, run.sources)
    runs = list(named.values())
    # What has others beside it comes before them, whichever was written last.
    runs.sort(key=lambda run: (_recorded(run), _has_companions(run), run.id), reverse=True)
    misses = tuple(sorted(walk.misses, key=lambda miss: miss.path))
    return Found(root, tuple(runs), misses, walk.folders, walk.files, tuple(walk.notes))


def _has_companions(run: Run) -> bool:
    return any(source.companions for source in run.sources)


def _recorded(run: Run) -> float:
    """When a run and what lies beside it was recorded."""
    beside = [one.modified for source in run.sources for one in source.companions]
    return max([run.recorded, *beside])


def _runs_of_traces(tree: Tree, root: str, walk: _Walk) -> Iterator[Run]:
    """The runs of traces that no XSpace lies beside; of the others, notes why they are not read."""
    from stepscope.store import trace_runs

    alone = {}
    for folder, entries in walk.traces.items():
        if folder in walk.sources:
            walk.misses += [trace_runs.copy_of_recording(entry) for entry in entries]
        else:
            alone[folder] = entries
    for folder, traces in trace_runs.gathered(alone).items():
        yield from trace_runs.runs(tree, folder, _relative(root, folder), traces, _TRACE)


def _runs_of_other_formats(tree: Tree, root: str, walk: _Walk) -> Iterator[Run]:
    """A run for each file, or for those of one job where their format tells whose they are."""
    present = {format_ for files in walk.others.values() for _entry, format_ in files}
    for format_ in filter(present.__contains__, FORMATS):
        mine = {
            folder: [entry for entry, other in files if other == format_]
            for folder, files in walk.others.items()
        }
        mine = {folder: entries for folder, entries in mine.items() if entries}
        if FORMATS[format_].whose is None:
            for folder, entries in mine.items():
                name = _relative(root, folder)
                yield from (_one_file(name, folder, entry, format_) for entry in entries)
        else:
            from stepscope.store import trace_runs

            for folder, named in trace_runs.gathered(mine).items():
                name = _relative(root, folder)
                yield from trace_runs.runs(tree, folder, name, named, format_)


def folder_format(name: str) -> str:
    """The format of a recording that is a folder with files of such names; "" for none."""
    if promises_xspace(name):
        return ""
    return next(
        (one.id for one in FORMATS.values() if one.is_table is not None and one.is_table(name)), ""
    )


def _table_folder_runs(root: str, walk: _Walk) -> Iterator[Run]:
    """A run for each folder that is a recording."""
    for (folder, format_), entries in walk.tables.items():
        size = sum(max(entry.size_bytes, 0) for entry in entries)
        label = shown(_TABLES.sub("", posixpath.basename(folder.replace(os.sep, "/"))))
        modified = max(entry.modified for entry in entries)
        source = Source(folder, label, size, modified, format_)
        yield Run(_relative(root, folder), folder, (source,))


def _run(root: str, folder: str, entries: list[tuple[Entry, str]], misses: list[Miss]) -> Run:
    by_host: dict[str, Entry] = {}
    for entry, host in sorted(
        entries, key=lambda pair: (pair[0].name.lower().endswith(".gz"), pair[0].name)
    ):
        first = by_host.get(host)
        if first is None:
            by_host[host] = entry
        elif entry.name.lower().endswith(".gz") and not first.name.lower().endswith(".gz"):
            misses.append(
                Miss(
                    entry.path,
                    "duplicate",
                    f"Has the same host name as {first.name}, which was opened instead.",
                    "Nothing, if it is the compressed copy; else rename it.",
                    entry.size_bytes,
                )
            )
        else:
            by_host[_unused(shown(entry.name), by_host)] = entry
    sources = tuple(
        Source(entry.path, host, entry.size_bytes, entry.modified)
        for host, entry in sorted(by_host.items())
    )
    return Run(_relative(root, folder), folder, sources)


def _one_file(name: str, folder: str, entry: Entry, format_: str) -> Run:
    """A recording that is a run by itself: nothing in its format tells of others."""
    label = _label(entry.name)
    source = Source(entry.path, label, entry.size_bytes, entry.modified, format_)
    return Run(f"{name}/{label}", folder, (source,))


def _relative(root: str, folder: str) -> str:
    """A folder as seen from the root; the root itself by its name."""
    relative = posixpath.relpath(folder.replace(os.sep, "/"), root.replace(os.sep, "/"))
    return relative if relative != "." else posixpath.basename(folder.rstrip("/"))


def _unused(name: str, taken: Mapping[str, object]) -> str:
    """The name, with a number after it where odd bytes make two names look the same."""
    numbered = (f"{name} ({number})" for number in count(2))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def _short_ids(relative: list[str]) -> dict[str, str]:
    """Ids without the ``plugins/profile/`` everyone has, where that leaves them unique."""
    short: dict[str, str] = {}
    for path in relative:
        parts = path.split("/")
        for at in range(len(parts) - 1):
            if parts[at : at + 2] == ["plugins", "profile"] and at + 2 < len(parts):
                parts[at : at + 2] = []
                break
            if at == 0 and parts[0] == "profile" and len(parts) > 1:
                parts[0:1] = []
                break
        short[path] = "/".join(parts)
    counts: dict[str, int] = defaultdict(int)
    for name in short.values():
        counts[name] += 1
    return {path: name if counts[name] == 1 else path for path, name in short.items()}


def by_reason(misses: tuple[Miss, ...]) -> list[list[Miss]]:
    """Near misses in groups that share reason and hint, so that each is printed once."""
    groups: dict[tuple[str, str], list[Miss]] = defaultdict(list)
    for miss in misses:
        groups[miss.reason, miss.hint].append(miss)
    return list(groups.values())


def _group_lines(root: str, group: list[Miss]) -> list[str]:
    names = [miss.path.removeprefix(shown(root)).lstrip("/") or miss.path for miss in group]
    lines = names[:_SHOWN_PER_REASON]
    if len(names) > len(lines):
        lines.append(f"… and {len(names) - len(lines)} more like these")
    return [*lines, f"  {group[0].reason}", f"  → {group[0].hint}"]


def nothing_found(found: Found) -> StoreError:
    """The error for a search without a run: where it looked, and why each near miss is none."""
    looked = (
        f"{count_words(found.folders, 'folder')} and {count_words(found.files, 'file')} "
        "examined below it"
    )
    lines = [line for group in by_reason(found.misses) for line in _group_lines(found.root, group)]
    if not lines:
        lines = [
            "none of the files is a recording (<host>.xplane.pb, *.pt.trace.json …) or looks like "
            "part of one"
        ]
    why = f"{looked}:" + "".join(f"\n         {line}" for line in [*lines, *found.notes])
    return StoreError(
        "No recording was found.",
        where=found.root,
        why=why,
        hint="Give the folder that the profiler writes to, or record first: "
        "stepscope record, tf.profiler.experimental.start(logdir) … stop(), "
        "jax.profiler.trace(logdir), or torch.profiler.profile(…).export_chrome_trace(path).",
        slug="no-recording",
    )
