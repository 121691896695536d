"""Which collective an event is part of: communicator, and the how-manieth of it.

PyTorch's kernels carry the process group's name, its ranks and, in newer versions, a sequence
number. What XLA compiled has its replica groups in the HLO module; of several groups the device's
is the one with its number, which is known where the recording has all devices, or its process's
rank. A message names the other side: it is one of a pair and a direction, and the how-manieth of
these, whatever else passed through the process group. Where a recording has neither, all that did
the same in the same step are taken to be one communicator, and ``is_guess`` says so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.limits import json_value
from stepscope.records import dataclass
from stepscope.schema import names
from stepscope.tables.core.devices import devices
from stepscope.tables.core.profile import Host
from stepscope.tables.core.stats import event_stats, metadata_ints
from stepscope.tables.hlo.modules import hlo_modules

if TYPE_CHECKING:
    from stepscope.tables.hlo.replica_groups import HloCollective

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
_RANK: Final = re.compile(r"rank(\d{1,7})")
_MOST_DIGITS: Final = 7


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
        is_compiled: Whether an HLO module says who meets.
        is_message: Whether it is a sender and a receiver; ``ranks`` are these, in this order.
    """

    key: str
    label: str
    kind: str
    size: int
    ranks: tuple[int, ...]
    is_guess: bool
    is_compiled: bool = False
    is_message: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class CollectiveIdentity:
    """What each of a host's collectives is part of.

    Attributes:
        communicators: Who meets.
        place: By event, which of them.
        number: By event, its recorded sequence number; -1 for none.
        op: By event, the how-manieth of its program's collectives it is; 0 where not compiled.
        ops: By event, how many its program has; 1 where not compiled.
    """

    communicators: list[Communicator]
    place: I64
    number: I64
    op: I64
    ops: I64


def kind_of(name: str) -> str:
    """What a collective does, from its name; the name itself where no known word is in it."""
    found = next((kind for kind, pattern in _KINDS if pattern.search(name)), None)
    return found or name[:60]


def identities(host: Host, rows: I64) -> CollectiveIdentity:
    """The communicators of a host's collectives.

    Args:
        host: The host.
        rows: Event rows of collectives.
    """
    stats = event_stats(host)
    said, op_names = stats.texts(names.ARGUMENTS), stats.texts(names.HLO_OP)
    entry = host.space.events.metadata[rows].astype(np.int64)
    keys = [entry, said.at(rows)]
    if len(hlo_modules(host)):
        keys += [op_names.at(rows), stats.ints(names.PROGRAM_ID).at(rows, 0), _planes(host, rows)]
    used, inverse = np.unique(np.stack(keys), axis=1, return_inverse=True)
    compiled, rank = _Compiled(host), _RANK.fullmatch(host.name)
    own = int(rank[1]) if rank else -1
    found: dict[Communicator, int] = {}
    places, ops = [], []
    for row, text, *hlo in used.T.tolist():
        name = host.space.event_metadata.name[row]
        arguments = _arguments(said.texts[text]) if text >= 0 else {}
        one, op, count = _communicator(name, arguments, own), 0, 1
        if one.is_guess and hlo:
            told = compiled.of(row, op_names.texts[hlo[0]] if hlo[0] >= 0 else "", *hlo[1:])
            one, op, count = told or (one, op, count)
        places.append(found.setdefault(one, len(found)))
        ops.append((op, count))
    which = inverse.ravel()
    place = np.asarray(places or [0], dtype=np.int64)[which]
    op_of, count_of = np.asarray(ops or [(0, 1)], dtype=np.int64)[which].T
    # What recorders number is all that passes through a process group, in each process by itself.
    is_message = np.asarray([one.is_message for one in found] or [False], dtype=np.bool_)
    number = np.where(is_message[place], -1, stats.ints(names.COLLECTIVE_NUMBER).at(rows, -1))
    return CollectiveIdentity(list(found), place, number, op_of, count_of)


def _planes(host: Host, rows: I64) -> I64:
    """Row in ``Space.planes`` of each event."""
    begin = np.asarray([line.begin for line in host.space.lines] or [0])
    plane = np.asarray([line.plane for line in host.space.lines] or [0], dtype=np.int64)
    found: I64 = plane[np.searchsorted(begin, rows, side="right") - 1]
    return found


class _Compiled:
    """The collectives of a host's programs, and which devices the host's are among all."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._programs: dict[int, int] = {}
        self._known: dict[int, tuple[str, dict[str, HloCollective]]] = {}
        self._planes: list[int] = []
        if len(hlo_modules(host)):
            self._programs = metadata_ints(host, names.PROGRAM_ID)
            self._planes = [one.plane for one in devices(host)]

    def of(
        self, entry: int, op_name: str, program: int, plane: int
    ) -> tuple[Communicator, int, int] | None:
        """Who meets in an op on a device, which of its program's it is, and of how many."""
        table = self._host.space.event_metadata
        name = op_name or table.display_name[entry]
        name = name or table.name[entry].partition(" = ")[0].lstrip("%")
        module, collectives = self._program_collectives(program or self._programs.get(entry, 0))
        one = collectives.get(name)
        mine = None if one is None else self._mine(one, plane)
        if one is None or mine is None:
            return None
        kind = kind_of(one.opcode)
        key = f"hlo/{module}/{kind}/{','.join(map(str, mine))}"
        made = Communicator(key, "", kind, len(mine), mine, is_guess=False, is_compiled=True)
        return made, one.place, one.of

    def _program_collectives(self, program: int) -> tuple[str, dict[str, HloCollective]]:
        if program not in self._known:
            from stepscope.tables.hlo.replica_groups import collectives_of

            module = hlo_modules(self._host).get(program)
            self._known[program] = (
                ("", {}) if module is None else (module.name, collectives_of(module))
            )
        return self._known[program]

    def _mine(self, one: HloCollective, plane: int) -> tuple[int, ...] | None:
        """The group of a device; () for all devices, None where its number is not known."""
        if len(one.groups) < 2:
            return one.groups[0] if one.groups else ()
        local = len(self._planes)
        if plane not in self._planes:
            return None
        number, rank = self._planes.index(plane), _RANK.fullmatch(self._host.name)
        if one.devices != local:
            if rank is None or one.devices % local:
                return None
            number += int(rank[1]) * local
        return next((group for group in one.groups if number in group), (number,))


def _arguments(text: str) -> dict[str, Any]:
    try:
        found = json_value(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _pair(said: dict[str, Any], own: int) -> tuple[int, int] | None:
    """Sender and receiver of a message; None where one of them is not recorded."""
    source, target = (_rank(said.get(name)) for name in (names.SOURCE_RANK, names.TARGET_RANK))
    # Each side names the other.
    pair = (own, target) if source < 0 else (source, own)
    return pair if min(pair) >= 0 and pair[0] != pair[1] else None


def _rank(value: object) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else -1


def _communicator(name: str, said: dict[str, Any], own: int) -> Communicator:
    kind = kind_of(str(said.get("Collective name") or "") or name)
    label = str(said.get("Process Group Description") or "")
    group = str(said.get("Process Group Name") or "")
    text = str(said.get("Process Group Ranks") or "")
    size = said.get("Group size")
    if not group and not text:
        return Communicator(f"all/{kind}", label, kind, 0, (), True)
    if kind == "send_recv" and (pair := _pair(said, own)):
        key = f"{group}/{kind}/{pair[0]}>{pair[1]}"
        return Communicator(key, label, kind, 2, pair, is_guess=False, is_message=True)
    ranks = () if _CUT in text else tuple(map(int, _RANKS.findall(text)))
    count = size if isinstance(size, int) and size > 0 else len(ranks)
    key = f"{group}/{kind}/{count}/{text.replace(' ', '')}"
    return Communicator(key, label, kind, count, ranks, False)
