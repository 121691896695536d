"""Which run, and which of its hosts, a name stands for."""

from __future__ import annotations

from stepscope.errors import UsageError
from stepscope.session.empty_runs import newest_with_events
from stepscope.store import Found, Run


def pick_run(found: Found, name: str | None) -> Run:
    """The run of this id, or the newest with events.

    Raises:
        UsageError: There is none of this id; the message names those there are.
    """
    if name is None:
        return newest_with_events(found)
    for run in found.runs:
        if run.id == name:
            return run
    ends = [run for run in found.runs if run.id.rsplit("/", 1)[-1] == name]
    if len(ends) == 1:
        return ends[0]
    known = ", ".join(run.id for run in found.runs[:10])
    more = f" and {len(found.runs) - 10} more" if len(found.runs) > 10 else ""
    raise UsageError(
        f"There is no run {name!r}.",
        where=found.root,
        hint=f"Runs here: {known}{more}.",
        slug="no-such-run",
    )


def pick_hosts(found: Found, run: Run, host: str | None) -> tuple[str, ...]:
    """The hosts of a run that ``host`` names; raises ``UsageError`` naming the ones there are."""
    known = run.hosts
    if host is None:
        return known
    chosen = (host,) if host in known else tuple(dict.fromkeys(host.split(",")))
    if strange := [one for one in chosen if one not in known]:
        more = f" and {len(known) - 10:,} more" if len(known) > 10 else ""
        raise UsageError(
            f"There is no host {strange[0]!r} in run {run.id!r}.",
            where=found.root,
            hint=f"Hosts: {', '.join(known[:10])}{more}.",
            slug="no-such-host",
        )
    return chosen
