"""Compiled functions of which a recording has the runs, and none of the ops."""

from __future__ import annotations

from dataclasses import replace

from stepscope.tables.account.parts import Part
from stepscope.tables.core.profile import Host
from stepscope.tables.steps.calls import function_calls, is_single_op

# So many functions are named where what of each was running is unknown.
_PROGRAMS = 3


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
