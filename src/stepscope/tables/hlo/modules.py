"""HLO modules of a host: for each program, what its instructions are and where they came from.

Modules travel as ``Hlo Proto`` stats on ``/host:metadata``. A module is parsed when first asked
for; a damaged one is treated as absent, since everything else in the profile still stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from stepscope.columns import pivot
from stepscope.columns.space import KIND_BYTES
from stepscope.schema import names
from stepscope.tables.core.planes import PlaneKind, planes
from stepscope.tables.core.profile import Host, derived

if TYPE_CHECKING:
    from stepscope.tables.hlo.module import HloModule

# A program's id is 64 bits, written with or without a sign.
_PROGRAM_ID = re.compile(r"-?[0-9]{1,20}")
# What JAX writes around the names of the ops of a backward pass.
_BACKWARD = b"transpose(jvp("


class HloModules:
    """The modules of a host by program id; parsed on first use."""

    def __init__(self, protos: dict[int, bytes]) -> None:
        self._protos = protos
        self._parsed: dict[int, HloModule | None] = {}

    def __len__(self) -> int:
        return len(self._protos)

    def get(self, program_id: int) -> HloModule | None:
        """The module of a program, None when the file has none (or a damaged one)."""
        program_id &= (1 << 64) - 1
        if program_id not in self._parsed:
            proto = self._protos.get(program_id)
            self._parsed[program_id] = None if proto is None else _parsed(proto)
        return self._parsed[program_id]

    def ids(self) -> tuple[int, ...]:
        """Program ids of the modules the file holds, damaged ones included."""
        return tuple(self._protos)

    def stack_frames(self) -> Iterator[bytes]:
        """The StackFrameIndexProto of each module that has one; no module is parsed for it."""
        from stepscope.tables.hlo.module import parse_stack_frames

        return (index for proto in self._protos.values() if (index := parse_stack_frames(proto)))

    def with_gradients(self) -> Iterator[HloModule]:
        """Those in which JAX computes gradients; no other is parsed."""
        return self.mentioning((_BACKWARD,))

    def mentioning(self, words: Sequence[bytes]) -> Iterator[HloModule]:
        """The modules with one of the words in any name or text; no other is parsed."""
        mentioned = (
            id_ for id_, proto in self._protos.items() if any(word in proto for word in words)
        )
        return (module for id_ in mentioned if (module := self.get(id_)) is not None)

    def __iter__(self) -> Iterator[HloModule]:
        return (module for id_ in self._protos if (module := self.get(id_)) is not None)


def _parsed(proto: bytes) -> HloModule | None:
    # What reads programs is 10 ms of imports that no recording without one needs.
    from stepscope.tables.hlo.module import parse_module

    return parse_module(proto)


@derived
def hlo_modules(host: Host) -> HloModules:
    """All HLO modules of a host, by program id (as an unsigned 64-bit number)."""
    return HloModules({_program_id(name, id_): proto for name, id_, proto in _protos(host)})


@derived
def programs_with_gradients(host: Host) -> frozenset[str]:
    """Names of the modules in which JAX computes gradients; none where no program is recorded."""
    return frozenset(
        name.partition("(")[0] for name, _id, proto in _protos(host) if _BACKWARD in proto
    )


def _protos(host: Host) -> Iterator[tuple[str, int, bytes]]:
    """Name and id of the entry of each module, and the module."""
    space, kinds = host.space, planes(host).plane_kind
    metadata, stats = space.event_metadata, space.metadata_stats
    for row in range(len(metadata)):
        if kinds[metadata.plane[row]] is not PlaneKind.METADATA:
            continue
        for stat in range(int(metadata.stat_begin[row]), int(metadata.stat_begin[row + 1])):
            key = int(stats.key[stat])
            is_proto = key >= 0 and space.stat_metadata.name[key] == names.HLO_PROTO
            if is_proto and stats.kind[stat] == KIND_BYTES:
                proto = pivot.read_bytes(space, stats.value[stat])
                yield metadata.name[row], int(metadata.id[row]), proto


def _program_id(name: str, id_: int) -> int:
    """A module's program id: the number in "jit_f(64)"; the entry's own id when it has none."""
    inside = name.rpartition("(")[2].rstrip(")")
    number = int(inside) if _PROGRAM_ID.fullmatch(inside) else id_
    return number & ((1 << 64) - 1)
