"""The pod of hosts that are decoded already, as those of a session that looks at them anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepscope.columns import distinct
from stepscope.errors import NothingToShow
from stepscope.pod import NO_SHARED_COLLECTIVE
from stepscope.tables.collectives.dcn_ops import has_dcn_collectives
from stepscope.tables.core.devices import devices
from stepscope.tables.core.op_name import is_host_collective
from stepscope.tables.core.presence import entries_named
from stepscope.tables.core.profile import Host, Profile, derived
from stepscope.tables.device.events import device_events
from stepscope.tables.host.events import Work

if TYPE_CHECKING:
    from stepscope.pod.report import Pod


def pod_of_hosts(profile: Profile) -> Pod:
    """Who makes the others wait, of the hosts of a profile.

    Raises:
        NothingToShow: No two of their devices share a collective.
    """
    # A recording of one device does not need them.
    from stepscope.pod.analyse import analyse
    from stepscope.summary.build import summarise

    whole = profile if len(profile.hosts) == 1 else None
    return analyse([summarise(host, profile=whole) for host in profile.hosts], profile.name)


@derived
def pod_of_profile(profile: Profile) -> Pod | str:
    """The same, or why there is none, as a sentence."""
    if len(profile.hosts) < 2 and not _several_devices(profile):
        return "No two devices were recorded that could wait for each other."
    if sum(map(_meeting_devices, profile.hosts)) < 2 and not has_dcn_collectives(profile):
        return NO_SHARED_COLLECTIVE
    try:
        return pod_of_hosts(profile)
    except NothingToShow as error:
        return error.what


def _several_devices(profile: Profile) -> bool:
    return any(sum(one.has_events for one in devices(host)) > 1 for host in profile.hosts)


def _meeting_devices(host: Host) -> int:
    """How many devices of a host run collectives; the host's own are those of one."""
    found = device_events(host)
    on_host = bool(entries_named(host, is_host_collective).any())
    return len(distinct(found.device[found.work == Work.COLLECTIVE])) + on_host
