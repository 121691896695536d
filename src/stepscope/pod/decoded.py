"""The pod of hosts that are decoded already, as those of a session that looks at them anyway."""

from __future__ import annotations

from stepscope.errors import NothingToShow
from stepscope.pod.analyse import analyse
from stepscope.pod.report import Pod
from stepscope.summary.build import summarise
from stepscope.tables.core.devices import devices
from stepscope.tables.core.profile import Profile, derived


def pod_of_hosts(profile: Profile) -> Pod:
    """Who makes the others wait, of the hosts of a profile.

    Raises:
        NothingToShow: No two of their devices share a collective.
    """
    return analyse([summarise(host) for host in profile.hosts], profile.name)


@derived
def pod_of_profile(profile: Profile) -> Pod | str:
    """The same, or why there is none, as a sentence."""
    if len(profile.hosts) < 2 and not _several_devices(profile):
        return "No two devices were recorded that could wait for each other."
    try:
        return pod_of_hosts(profile)
    except NothingToShow as error:
        return error.what


def _several_devices(profile: Profile) -> bool:
    return any(sum(one.has_events for one in devices(host)) > 1 for host in profile.hosts)
