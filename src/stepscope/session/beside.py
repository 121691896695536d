"""Other recordings of the program that a run is of, for what only they can tell."""

from __future__ import annotations

from dataclasses import replace

from stepscope.errors import StepscopeError
from stepscope.session.decoded_run import DecodedRun
from stepscope.store import Found, Run
from stepscope.tables.core.profile import Host


def hosts_beside(found: Found, run: Run) -> tuple[Host, ...]:
    """Hosts of the first window of the run's folder and of the one before it, called by their runs.

    What a program does once, such as capturing a graph, it does early. Windows that do not open
    are left out: the run's own numbers do not need them.
    """
    listed = [one for one in found.runs if one.path == run.path and _formats(one) == _formats(run)]
    listed.sort(key=lambda one: one.modified)
    ids = [one.id for one in listed]
    at = ids.index(run.id) if run.id in ids else 0
    chosen = dict.fromkeys((*ids[:1], *ids[max(at - 1, 0) : at]))
    hosts = []
    for one in listed:
        if one.id in chosen and one.id != run.id:
            try:
                opened = DecodedRun(one).hosts(one.hosts)
            except StepscopeError:
                continue
            hosts += [replace(host, name=one.id) for host in opened]
    return tuple(hosts)


def _formats(run: Run) -> set[str]:
    return {source.format for source in run.sources}
