"""The compiled programs of a session, and finding one by what a person calls it."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.errors import UsageError
from stepscope.tables.core.profile import Profile, derived
from stepscope.tables.hlo.buffers import BufferPlan, buffer_plan
from stepscope.tables.hlo.module import HloModule
from stepscope.tables.hlo.modules import hlo_modules


class Program(NamedTuple):
    """One compiled program of one host."""

    host: str
    program_id: int
    module: HloModule

    @property
    def label(self) -> str:
        """Module name and program id, e.g. "jit_step(12)"."""
        return f"{self.module.name}({self.program_id})"


class PlannedProgram(NamedTuple):
    """A program and its plan of memory."""

    program: Program
    plan: BufferPlan

    @property
    def allocated_bytes(self) -> int:
        """Size of all its blocks, in all memory spaces."""
        return sum(one.size_bytes for one in self.plan.allocations)


def has_programs(profile: Profile) -> bool:
    """Whether ``programs`` has any; they are parsed up to the first that is readable.

    The file still names a damaged program, or one that redaction took out.
    """
    return any(True for host in profile.hosts for _ in hlo_modules(host))


def has_planned_programs(profile: Profile) -> bool:
    """Whether ``planned_programs`` has any; programs are read up to the first that has."""
    return any(
        buffer_plan(module) is not None for host in profile.hosts for module in hlo_modules(host)
    )


@derived
def planned_programs(profile: Profile) -> tuple[PlannedProgram, ...]:
    """Programs with a memory plan, the one that allocates most first."""
    plans = ((one, buffer_plan(one.module)) for one in programs(profile))
    found = [PlannedProgram(program, plan) for program, plan in plans if plan is not None]
    return tuple(sorted(found, key=lambda one: (-one.allocated_bytes, one.program.label)))


def programs(profile: Profile) -> list[Program]:
    """The readable programs; one that several hosts run is listed with the first."""
    found: dict[tuple[str, int], Program] = {}
    for host in profile.hosts:
        modules = hlo_modules(host)
        for id_ in modules.ids():
            module = modules.get(id_)
            if module is not None:
                found.setdefault((module.name, id_), Program(host.name, id_, module))
    return list(found.values())


def find_program(known: list[Program], wanted: str, tool: str) -> Program:
    """The program with this label, id or name; the first when ``wanted`` is empty.

    Raises:
        UsageError: None matches.
    """
    if not wanted and known:
        return known[0]
    for one in known:
        if wanted in (one.label, str(one.program_id)):
            return one
    for one in known:
        if wanted == one.module.name:
            return one
    labels = [one.label for one in known]
    listed = ", ".join(labels[:10]) + (f" and {len(labels) - 10} more" if len(labels) > 10 else "")
    raise UsageError(
        f"{tool}: there is no program {wanted!r}.", hint=f"Known programs: {listed or 'none'}."
    )
