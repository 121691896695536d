"""The picture of the layers in ``ARCHITECTURE.md``, drawn from the imports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from stepscope.surfaces.generate.imports import arrows, reduced

# Folders whose insides have a picture of their own.
_OPEN = ("tables", "capture")


def layers_picture(package: Path) -> str:
    """The layers, then the subpackages of the largest ones, as Mermaid; an arrow is an import."""
    modules = arrows(package)
    parts = ["Drawn from the imports; an arrow that a detour replaces is left out.", ""]
    parts += _mermaid(_subpackages(modules, depth=1))
    for folder in _OPEN:
        inside = {
            name: {target for target in targets if target.split(".")[1:2] == [folder]}
            for name, targets in modules.items()
            if name.split(".")[1:2] == [folder] and name.count(".") > 1
        }
        parts += ["", f"Inside `{folder}/`:", "", *_mermaid(_subpackages(inside, depth=2))]
    return "\n".join(parts)


def _subpackages(modules: Mapping[str, set[str]], depth: int) -> dict[str, set[str]]:
    """Subpackage → those it imports, at ``depth`` below the package."""

    def subpackage(name: str) -> str:
        return "/".join(name.split(".")[1 : depth + 1])

    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, targets in modules.items():
        if name.count(".") < depth or name.endswith("__main__"):
            continue
        others = {subpackage(t) for t in targets if t.count(".") >= depth}
        found[subpackage(name)] |= others - {subpackage(name)}
    return reduced(found)


def _mermaid(subpackages: Mapping[str, set[str]]) -> list[str]:
    lines = ["```mermaid", "flowchart TD"]
    for path, targets in sorted(subpackages.items()):
        name = path.rpartition("/")[2]
        lines.append(f"    {_id(path)}[{name}]")
        lines += [f"    {_id(path)} --> {_id(target)}" for target in sorted(targets)]
    return [*lines, "```"]


def _id(path: str) -> str:
    return "r_" + path.replace("/", "_")
