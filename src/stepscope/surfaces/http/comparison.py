"""Two runs of one workspace compared, as a page among those of the tools.

The page is listed, asked for and exported like a tool's, though it is over two runs: its option
``baseline`` names the second.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from werkzeug.wrappers import Request

from stepscope.errors import UsageError
from stepscope.session import Workspace
from stepscope.surfaces.envelope import ToolInfo, column_infos

if TYPE_CHECKING:
    from stepscope.comparison import Comparison

ID: Final = "compare"
_KEPT: Final = 4


class Comparisons:
    """The comparisons of a workspace, the latest of them kept."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = RLock()
        self._known: OrderedDict[tuple[str, str, str], Comparison] = OrderedDict()

    def info(self, run: str) -> ToolInfo:
        """The page as a tool: available where there is another run to compare with."""
        from stepscope.comparison import Comparison
        from stepscope.surfaces.fields import table_fields

        others = [one.id for one in self._workspace.runs if one.id != run]
        return {
            "id": ID,
            "short": ID,
            "title": "Compare runs",
            "group": "Runs",
            "summary": "What changed between two runs, in parts that sum to the change.",
            "available": bool(others),
            "missing": "" if others else "There is only one run here to look at.",
            "record": ""
            if others
            else "Record a second run into the same log directory, or compare any two with\n"
            "stepscope compare BASELINE NEW",
            "options": [
                {
                    "name": "baseline",
                    "type": "str",
                    "default": self._before(run) if others else None,
                    "choices": others,
                    "help": "The run to compare with.",
                }
            ],
            "tables": {name: column_infos(row) for name, row in table_fields(Comparison).items()},
        }

    def answer(self, request: Request) -> Comparison:
        """The comparison a request asks for: ``run`` with ``baseline``, by default the run before.

        Raises:
            UsageError: There is no second run.
        """
        from stepscope.comparison import compare
        from stepscope.session.compare import comparable

        load = self._workspace.load
        session = load(request.args.get("run") or None, request.args.get("host") or None)
        wanted = request.args.get("baseline") or self._before(session.name)
        key = session.name, wanted, request.args.get("host", "")
        with self._lock:
            if key not in self._known:
                before = load(wanted)
                hosts = session.hosts
                if request.args.get("host") and hosts[0] in before.hosts:
                    before = load(wanted, hosts[0])
                self._known[key] = compare(comparable([before, session]))
                while len(self._known) > _KEPT:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
            return self._known[key]

    def _before(self, run: str) -> str:
        """The run before this one in time, else the one after it."""
        order: list[Any] = [one.id for one in self._workspace.runs]
        if len(order) < 2:
            raise UsageError(
                "A comparison needs two runs.",
                where=self._workspace.found.root,
                mend="Record a second run into the same log directory.",
                slug="one-run",
            )
        place = order.index(run)
        before: str = order[place + 1] if place + 1 < len(order) else order[place - 1]
        return before
