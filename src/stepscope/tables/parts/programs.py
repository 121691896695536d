"""Compiled functions of which a recording has the runs, and none of the ops.

Where it has their programs, these say which lines the work comes from.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from stepscope.tables.account.account import Account
from stepscope.tables.account.owners import Owner
from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.modules import hlo_modules
from stepscope.tables.parts.compiled_lines import compiled_lines
from stepscope.tables.parts.gradients.without import passes_apart, without_gradients
from stepscope.tables.parts.graph_functions import graph_functions
from stepscope.tables.parts.outer_functions import below_calls
from stepscope.tables.parts.parts import Part, parts
from stepscope.tables.parts.unnamed_ops import unnamed_ops
from stepscope.tables.steps.calls import function_calls, is_single_op
from stepscope.tables.traits.inside import LineWork, lines_of_program

if TYPE_CHECKING:
    from stepscope.tables.hlo.module import HloModule

# So many functions are named where what of each was running is unknown.
_PROGRAMS = 3


def compiled_parts(host: Host, found: Account, listed: list[Owner]) -> list[Part]:
    """The parts of an account, with what the recording knows of compiled programs."""
    unnamed, apart = unnamed_ops(host, listed), without_gradients(host, listed)
    lines = compiled_lines(host, listed, {at: key[-1] for at, key in unnamed.items()})
    joined = unnamed | passes_apart(listed) | graph_functions(host, listed, lines)
    made = below_calls(found, parts(found, listed, lines, apart, joined), listed)
    return with_programs(host, made)


def with_programs(host: Host, made: list[Part]) -> list[Part]:
    """What runs compiled functions, as these functions, where none of their ops was recorded."""
    if any(one.kind == "op" for one in made):
        return made
    called = [one for one in function_calls(host) if one.kind == "call"]
    called = [one for one in called if not is_single_op(one.name)] or called
    longest = sorted(called, key=lambda one: -one.time_ps)[:_PROGRAMS]
    name = ", ".join(one.name for one in longest)
    return [
        replace(one, kind="program", name=name) if name and one.kind == "runtime" else one
        for one in made
    ]


# So many lines are named, each with this share of the program's estimated work.
_LINES, _LINE_FRAC = 3, 0.1
_MOST_FRAC = 0.5
_PREFIX = re.compile(r"^(?:jit|pmap|pjit)_+")


def is_program(one: Part) -> bool:
    """Whether a part is what a compiled function runs, of whose ops none was recorded."""
    first = one.first
    return one.kind == "program" or (first.kind == "op" and first.is_inline and not first.type)


def modules_of(host: Host, one: Part) -> list[HloModule]:
    """The recorded programs of a part's compiled function, one for each shape of its arguments."""
    if not is_program(one):
        return []
    called = one.name.split(", ")[0] if one.kind == "program" else one.first.name
    return [
        module
        for module in hlo_modules(host)
        if _PREFIX.sub("", module.name) == _PREFIX.sub("", called)
    ]


def lines_of(host: Host, one: Part) -> list[LineWork]:
    """The lines that the work of a part's compiled function comes from, by its recorded program.

    The largest first; empty where its ops were recorded, or its program was not.
    """
    found = [lines_of_program(module) for module in modules_of(host, one)]
    # Compiled for several shapes, it comes from the same lines.
    return [line for line in max(found, key=len, default=[])[:_LINES] if line.share >= _LINE_FRAC]


def said_lines(lines: list[LineWork]) -> str:
    """What their work is and where, with its share."""
    return ", ".join(f"{one.share:.0%} {one.name}{_where(one)}" for one in lines)


def said_most(lines: list[LineWork]) -> str:
    """What the first of them does, if that is half of the work or more: "73% normal in draw"."""
    if not lines or lines[0].share < _MOST_FRAC:
        return ""
    inside = f" in {lines[0].frame.function}" if lines[0].frame.function else ""
    return f"{lines[0].share:.0%} {lines[0].name}{inside}"


def _where(one: LineWork) -> str:
    file = one.frame.file.replace("\\", "/").rpartition("/")[2]
    inside = f" in {one.frame.function}" if one.frame.function else ""
    called = f", called from {one.caller.rpartition('/')[2]}" if one.caller else ""
    return f"{inside} ({file}:{one.frame.line}{called})"
