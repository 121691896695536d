"""The rules of advice that are installed: our own, then those of other packages.

Another package adds rules by an entry point of the group ``stepscope.rules`` that leads to a
``stepscope.registry.Rule``.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.advice import RULES
from stepscope.advice.results import Results
from stepscope.analysis import TOOLS
from stepscope.registry import Answer, Rule

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "stepscope.rules"


@cache
def all_rules() -> tuple[Rule, ...]:
    """Our own rules and those of the installed packages, in this order.

    An entry point that does not load stays in the list as a rule that fails, so that every
    report of checked rules says so; one that takes an id already taken does, too.
    """
    return (*RULES, *added_rules())


@cache
def added_rules() -> tuple[Rule, ...]:
    """The rules of the installed packages."""
    if not _some_package_adds():
        return ()
    from importlib.metadata import entry_points

    taken = set(RULES.ids)
    added: list[Rule] = []
    for point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        rule = _loaded(point)
        if rule.id in taken:
            rule = _broken(point, f"the id {rule.id!r} is taken already")
        taken.add(rule.id)
        added.append(rule)
    return tuple(added)


def tools_read(rules: Iterable[Rule]) -> frozenset[str]:
    """Ids of the tools whose results some rules read."""
    return frozenset(name for rule in rules for name in rule.reads)


def import_diagnosis() -> None:
    """Import the rules and the tools that they read, before somebody waits for the findings.

    That takes longer than analysing most recordings.
    """
    for tool in sorted(tools_read(all_rules()) & set(TOOLS.ids)):
        TOOLS.find(tool)


def _some_package_adds() -> bool:
    """Whether the group's name is in what any package says of itself.

    ``importlib.metadata`` and the packages it imports take longer than a small profile's overview,
    and nearly nobody has such a package; it is asked where one may be, as inside an archive.
    """
    for place in sys.path:
        if Path(place).is_file():
            return True
        with contextlib.suppress(OSError), os.scandir(place or ".") as entries:
            for entry in entries:
                if entry.name.endswith((".dist-info", ".egg-info")) and _names_group(
                    Path(entry.path)
                ):
                    return True
    return False


def _names_group(package: Path) -> bool:
    with contextlib.suppress(OSError):
        return GROUP.encode() in (package / "entry_points.txt").read_bytes()
    return False


def _loaded(point: EntryPoint) -> Rule:
    try:
        rule = point.load()
    except Exception as error:  # whatever a stranger's import raises
        return _broken(point, f"{type(error).__name__}: {error}")
    if not isinstance(rule, Rule):
        return _broken(point, f"it is a {type(rule).__name__} and no stepscope.registry.Rule")
    return rule


def _broken(point: EntryPoint, why: str) -> Rule:
    def check(_results: Results) -> Iterator[Answer]:
        raise RuntimeError(f"the rule at {point.value!r} cannot be used: {why}")

    return Rule(id=f"entry-point:{point.name}", check=check, needs=(), title=point.name)
