"""What a recording says of its machine and its owner, which nobody is shown who did not ask.

Hosts, users, command lines, environments, folders and secrets: by the names of stats that hold
them, and paths wherever a plane says something of itself or the recorder left a note. Places in
programs (events called by a file and line, source stats, HLO) are not of this class: they are what
findings point at, and ``redaction`` takes them out.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

import numpy as np

from stepscope.columns.pivot import read_bytes, read_string
from stepscope.columns.space import (
    I64,
    KIND_BYTES,
    KIND_NONE,
    KIND_REF,
    KIND_STR,
    Bool,
    Space,
    Stats,
)
from stepscope.errors import DecodeError
from stepscope.schema import names
from stepscope.schema.xspace import Wire
from stepscope.wire.read import fields, read_varint

# What the name of such a stat ends in, as words of their own; lower case, without what joins them.
_ENDINGS: Final = (
    "user", "username", "login", "home", "homedir", "hostname", "nodename", "command",
    "commandline", "cmd", "cmdline", "argv", "env", "environ", "environment",
    "environmentvariables", "envvars", "cwd", "pwd", "workingdirectory", "workingdir", "workdir",
    "logdir", "outputdir", "executable", "executablepath", "secret", "password", "token", "apikey",
    "credentials", "ipaddress",
)  # fmt: skip
_WORDS: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
# From the root, the home or a drive, of another machine or behind a scheme. The names of devices
# (/job:worker/task:0) have a colon in their first part.
_PATH: Final = re.compile(
    r"(?<![^\s\"'=,;(\[<|])"
    r"(?:~?/[^/\s:]+/[^\s\"']*|~/[^\s\"']+|[A-Za-z]:[\\/][^\s\"']+|\\\\[^\s\"']+"
    r"|(?!https?:)[a-z][\w+.-]*://[^\s\"']+)"
)
_MOST_WORDS: Final = 3


def is_private(stat: str) -> bool:
    """Whether the texts of a stat of this name tell of the machine or its owner."""
    if not _joined(stat).endswith(_ENDINGS):
        return False
    words = [word.lower() for word in _WORDS.findall(stat)]
    return any("".join(words[-count:]) in _ENDINGS for count in range(1, _MOST_WORDS))


def _joined(text: str) -> str:
    return text.lower().replace("_", "").replace(" ", "")


def _private_rows(stats: list[str]) -> Bool:
    """Whether each of these names is private."""
    private = np.zeros(len(stats), dtype=bool)
    joined = _joined("\n".join(stats)).split("\n")  # all at once: few end like a private name
    if len(joined) != len(stats):  # names of several lines
        joined = [_joined(stat) for stat in stats]
    ends = _ENDINGS
    likely = [row for row, text in enumerate(joined) if text.endswith(ends)]
    private[[row for row in likely if is_private(stats[row])]] = True
    return private


def without_private(space: Space) -> Space:
    """The space without what is private; the stats that held it have no value."""
    names_of = space.stat_metadata.name
    private = _private_rows(names_of)
    plane_rows = _is_private_key(space.plane_stats, private) | _paths(space)
    columns = (space.event_stats, space.metadata_stats, space.plane_stats)
    erased = (
        *(_is_private_key(column, private) for column in columns[:2]),
        plane_rows,
    )
    event_stats, metadata_stats, plane_stats = map(_erased, columns, erased)
    return replace(
        space,
        event_stats=event_stats,
        metadata_stats=metadata_stats,
        plane_stats=plane_stats,
        stat_metadata=replace(space.stat_metadata, name=_names_left(space, columns, erased)),
        errors=tuple(_note(text, space.hostnames) for text in space.errors),
        warnings=tuple(_note(text, space.hostnames) for text in space.warnings),
        hostnames=(),
    )


def private_stretches(space: Space) -> list[tuple[int, int]]:
    """Stretches of ``Space.buffer``, begin and end of each, with texts in serialised options.

    What the recorder was asked for is one message, which has the folder it wrote to.
    """
    stats = space.plane_stats
    found = []
    for row in np.flatnonzero((stats.kind == KIND_BYTES) & (stats.key >= 0)).tolist():
        if space.stat_metadata.name[int(stats.key[row])] != names.PROFILE_OPTIONS:
            continue
        at = int(stats.value[row])
        data, (_, begin) = read_bytes(space, at), read_varint(space.buffer, at, len(space.buffer))
        try:
            inner = [one for one in fields(memoryview(data)) if one.wire == Wire.LEN]
        except (ValueError, DecodeError):
            found.append((begin, begin + len(data)))
        else:
            found += [(begin + one.payload, begin + one.end) for one in inner]
    return found


def _is_private_key(stats: Stats, private: Bool) -> Bool:
    """Which of the stats have a private name and a text."""
    if not private.any():
        return np.zeros(len(stats), dtype=bool)
    named: Bool = (stats.key >= 0) & private[np.maximum(stats.key, 0)]
    return named & np.isin(stats.kind, (KIND_STR, KIND_BYTES, KIND_REF))


def _paths(space: Space) -> Bool:
    """Which of the planes' own stats have a text with a path in it."""
    stats = space.plane_stats
    found = np.zeros(len(stats), dtype=bool)
    known: dict[tuple[int, int], bool] = {}
    for row in np.flatnonzero((stats.kind == KIND_STR) | (stats.kind == KIND_REF)).tolist():
        kind, value = int(stats.kind[row]), int(stats.value[row])
        if (kind, value) not in known:
            is_text = kind == KIND_STR
            text = read_string(space, value) if is_text else space.stat_metadata.name[value]
            known[kind, value] = bool(_PATH.search(text))
        found[row] = known[kind, value]
    return found


def _erased(stats: Stats, rows: Bool) -> Stats:
    if not rows.any():
        return stats
    kind, value = stats.kind.copy(), stats.value.copy()
    kind[rows], value[rows] = KIND_NONE, 0
    return Stats(stats.key, kind, value)


def _names_left(space: Space, columns: tuple[Stats, ...], erased: tuple[Bool, ...]) -> list[str]:
    """Names of stats, without those that are the texts of nothing but what is erased."""
    found = space.stat_metadata.name
    gone = np.zeros(len(found), dtype=bool)
    for stats, rows in zip(columns, erased, strict=True):
        if rows.any():
            gone[_texts_by_name(stats, rows)] = True
    if not gone.any():
        return found
    for stats, rows in zip(columns, erased, strict=True):
        gone[_texts_by_name(stats, ~rows)] = False
        gone[stats.key[stats.key >= 0]] = False
    return [("" if out else name) for name, out in zip(found, gone.tolist(), strict=True)]


def _texts_by_name(stats: Stats, rows: Bool) -> I64:
    """Rows of the names that these stats have for their texts."""
    found: I64 = stats.value[rows & (stats.kind == KIND_REF)].astype(np.int64)
    return found


def without_folders(text: str) -> str:
    """The text with the last part alone of each path in it."""
    return _PATH.sub(lambda path: re.split(r"[/\\]+", path[0].rstrip("/\\"))[-1], text)


def _note(text: str, hosts: tuple[str, ...]) -> str:
    """A recorder's note without folders and hosts."""
    text = without_folders(text)
    # A damaged file may say thousands of hosts: a pattern is made for those that the note has.
    for host in (one for one in hosts if one and one in text):
        text = re.sub(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", "this host", text)
    return text
