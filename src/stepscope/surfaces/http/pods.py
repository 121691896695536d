"""Who makes a pod slower, as a page among those of the tools.

It is over all recordings of a run, however many: they are summarised and joined once, when the page
is first asked for. Of 80,000 devices the page gets the map, the worst and the sums; a colour of the
map is a byte for each cell, asked for when it is chosen. The first one comes with the page, which
then shows its map without another question.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from werkzeug.datastructures import Headers
from werkzeug.wrappers import Request, Response

from stepscope.errors import UsageError
from stepscope.panels import Figure, Headline, OwnChart, Panel, TableView
from stepscope.session.workspace import Workspace
from stepscope.store import Run
from stepscope.surfaces.envelope import ToolInfo, column_infos, columnar, field_labels, field_words
from stepscope.surfaces.http.answers import compressed, json_answer

if TYPE_CHECKING:
    from stepscope.pod.report import Pod

ID: Final = "pod"
_KEPT: Final = 2
#: Rows of the table of devices that the page gets; all are in its files.
MOST_DEVICES: Final = 200

_PAGE: Final[tuple[Panel, ...]] = (
    Headline("{headline}", tone="{verdict=suspects?}collectives | other"),
    Figure(
        "Step",
        "{step_ms} | –",
        "mean of {counted_steps} steps, replayed from what was recorded",
    ),
    Figure("Typical step", "{typical_step_ms} | –", "{lost_frac} of the step is lost"),
    Figure("Recordings", "{recordings}", "of {expected}"),
    Figure("Devices", "{devices_found}"),
    Figure(
        "Clocks",
        "± {clock_u_us} | –",
        "{clock_u_us?}aligned by collectives | share no collective",
    ),
    TableView("files", title="Not in the numbers", noun=("recording", "recordings")),
    OwnChart("pod_cost"),
    OwnChart("pod_map"),
    OwnChart("pod_suspects"),
    OwnChart("pod_ribbon"),
    OwnChart("pod_axes"),
    TableView(
        "links",
        title="Links",
        note="transfers and waiting by group of devices; × class is against groups of its kind",
        noun=("group", "groups"),
    ),
    TableView(
        "devices",
        title="Devices",
        note="the {devices.rows} of {devices_found} that make others wait longest; files have all",
        noun=("device", "devices"),
    ),
)


class Pods:
    """The pods of a workspace, the latest of them kept."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = Lock()
        self._joining: dict[object, Lock] = {}  # by key: who asks for the same waits
        self._known: OrderedDict[tuple[Run, tuple[str, ...]], Pod] = OrderedDict()
        self._texts: dict[bool, tuple[Pod, bytes, Headers]] = {}  # by whether they are zipped

    def info(self, hosts: int, devices: int) -> ToolInfo:
        """The page as a tool: available where somebody can wait for somebody."""
        from stepscope.pod.report import Pod
        from stepscope.surfaces.fields import table_fields

        available = hosts > 1 or devices > 1
        return {
            "id": ID,
            "short": "stragglers",
            "title": "Pod",
            "tab": "Ranks",
            "summary": "Which host, device or link makes the others wait, what it costs, and why.",
            "available": available,
            "missing": "" if available else "There is only one device in this recording.",
            "record": "" if available else "Record all hosts of the job at the same time.",
            "options": [],
            "tables": {name: column_infos(row) for name, row in table_fields(Pod).items()},
            "labels": field_labels(Pod),
            "words": field_words(Pod),
            "times_of": ["step"],
            "opens": {},
            "page": list(_PAGE),
        }

    def answer(self, request: Request) -> Pod:
        """The pod of the run, or of some of its hosts.

        Raises:
            NothingToShow: No two of its devices share a collective.
        """
        run, host = (request.args.get(name) or None for name in ("run", "host"))
        session = self._workspace.session(run, host)
        key = session.recording.run, session.hosts
        with self._lock:
            joining = self._joining.setdefault(key, Lock())
        with joining:
            with self._lock:
                if key in self._known:
                    self._known.move_to_end(key)
                    return self._known[key]
            progress = self._workspace.progress(session.name)
            before, progress.state = progress.state, "opening"
            try:
                found = session.pod()
            finally:
                progress.state, progress.stage = before, ""
            with self._lock:
                self._known[key] = found
                while len(self._known) > _KEPT:
                    self._known.popitem(last=False)
        return found

    def page(self, request: Request) -> Response:
        """The pod with columns for tables, and of devices those that make others wait longest.

        What 80,000 devices are as text is kept as long as the pod is the one last asked for.
        """
        pod = self.answer(request)
        is_zipped = request.accept_encodings.quality("gzip") > 0
        with self._lock:
            known = self._texts.get(is_zipped)
        if known is None or known[0] is not pod:
            answer = json_answer(request, _page_of(pod))
            known = pod, answer.get_data(), answer.headers
            with self._lock:
                self._texts[is_zipped] = known
        return Response(known[1], headers=known[2])

    def cells(self, request: Request) -> Response:
        """The bytes of a colour of the map, by cell: see ``pod.map.colours``.

        Raises:
            UsageError: There is no such colour.
        """
        from stepscope.pod.map import colours

        pod = self.answer(request)
        wanted = request.args.get("measure", "")
        measure = next((one for one in pod.map.measures if one.id == wanted), None)
        if measure is None:
            known = ", ".join(one.id for one in pod.map.measures)
            raise UsageError(f"The map has no measure {wanted!r}.", hint=f"One of {known}.")
        data = colours(pod.devices, pod.map, measure).tobytes()
        response = Response(data, mimetype="application/octet-stream")
        response.headers["Cache-Control"] = "private, no-cache"
        return compressed(request, response)


def _page_of(pod: Pod) -> dict[str, Any]:
    from base64 import b64encode
    from dataclasses import replace

    from stepscope.pod.map import colours
    from stepscope.result import Table

    worst = np.argsort(-np.asarray(pod.devices["charged_ms"]), kind="stable")[:MOST_DEVICES]
    columns = {
        name: values[worst] if isinstance(values, np.ndarray) else [values[at] for at in worst]
        for name, values in pod.devices.columns.items()
    }
    page = columnar(replace(pod, devices=Table(pod.devices.schema, columns)))
    first = colours(pod.devices, pod.map, pod.map.measures[0])
    return {**page, "first_cells": b64encode(first.tobytes()).decode("ascii")}
