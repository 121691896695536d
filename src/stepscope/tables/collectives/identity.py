"""Which collective an event is part of: communicator, and the how-manieth of it.

PyTorch's kernels carry the process group's name, its ranks and, in newer versions, a sequence
number. Where a recording has neither, all that did the same in the same step are taken to be one
communicator, and ``is_guess`` says so.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.schema import names
from stepscope.tables.core.profile import Host
from stepscope.tables.core.stats import event_stats

#: What a collective does, by words in its name; the first that occurs counts.
_KINDS: Final = (
    ("reduce_scatter", re.compile(r"reduce_?-?scatter", re.I)),
    ("all_reduce", re.compile(r"all_?-?reduce", re.I)),
    ("all_gather", re.compile(r"all_?-?gather", re.I)),
    ("all_to_all", re.compile(r"all_?-?to_?-?all|alltoall", re.I)),
    ("barrier", re.compile(r"barrier", re.I)),
    ("broadcast", re.compile(r"broadcast", re.I)),
    ("send_recv", re.compile(r"send|recv|collective-?permute|p2p|coalesced", re.I)),
    ("reduce", re.compile(r"reduce", re.I)),
    ("gather", re.compile(r"gather", re.I)),
    ("scatter", re.compile(r"scatter", re.I)),
)
#: These end on all members at once, so that the shortest member was the last to come.
SYMMETRIC: Final = frozenset({"all_reduce", "all_gather", "reduce_scatter", "barrier"})
_RANKS: Final = re.compile(r"\d+")
_CUT: Final = "..."


@dataclass(frozen=True, slots=True)
class Communicator:
    """Devices that meet again and again.

    Attributes:
        key: The same text on all members and on nobody else; it has the name and the ranks.
        label: What the program calls it; "" if nothing.
        kind: What they do, such as "all_reduce": every kind is matched by itself.
        size: How many members; 0 where that is not recorded.
        ranks: The members; empty where not recorded, or cut by the recorder.
        is_guess: Whether all of the job that do this are taken to be one.
    """

    key: str
    label: str
    kind: str
    size: int
    ranks: tuple[int, ...]
    is_guess: bool


def kind_of(name: str) -> str:
    """What a collective does, from its name; the name itself where no known word is in it."""
    found = next((kind for kind, pattern in _KINDS if pattern.search(name)), None)
    return found or name[:60]


def communicators(host: Host, rows: I64) -> tuple[list[Communicator], I64, I64]:
    """The communicators of a host's collectives.

    Args:
        host: The host.
        rows: Event rows of collectives.

    Returns:
        The communicators, the place of each event's in them, and each event's sequence number
        (-1 where none is recorded).
    """
    said = event_stats(host).texts(names.ARGUMENTS)
    pairs = np.stack([host.space.events.metadata[rows].astype(np.int64), said.at(rows)])
    used, inverse = np.unique(pairs, axis=1, return_inverse=True)
    found: dict[Communicator, int] = {}
    places = []
    for entry, text in used.T.tolist():
        arguments = _arguments(said.texts[text]) if text >= 0 else {}
        one = _communicator(host.space.event_metadata.name[entry], arguments)
        places.append(found.setdefault(one, len(found)))
    place = np.asarray(places or [0], dtype=np.int64)[inverse.ravel()]
    return list(found), place, event_stats(host).ints(names.COLLECTIVE_NUMBER).at(rows, -1)


def _arguments(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _communicator(name: str, said: dict[str, Any]) -> Communicator:
    kind = kind_of(str(said.get("Collective name") or "") or name)
    label = str(said.get("Process Group Description") or "")
    group = str(said.get("Process Group Name") or "")
    text = str(said.get("Process Group Ranks") or "")
    size = said.get("Group size")
    if not group and not text:
        return Communicator(f"all/{kind}", label, kind, 0, (), True)
    ranks = () if _CUT in text else tuple(map(int, _RANKS.findall(text)))
    count = size if isinstance(size, int) and size > 0 else len(ranks)
    key = f"{group}/{kind}/{count}/{text.replace(' ', '')}"
    return Communicator(key, label, kind, count, ranks, False)
