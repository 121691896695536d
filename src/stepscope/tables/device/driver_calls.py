"""Calls of the devices' drivers that launch nothing: waits, and memory got and given back.

Recorders number them as they number launches, so only their names tell.
"""

from __future__ import annotations

import re
from typing import Final

from stepscope.columns.space import Bool
from stepscope.tables.core.presence import entries_shaped
from stepscope.tables.core.profile import Host, derived
from stepscope.tables.core.waits import is_wait_for_device

# CUDA, HIP, and the allocator PjRt puts around them. Stream-ordered calls (…Async) are cheap.
_ALLOCATES: Final = re.compile(
    r"^(cuda|hip)(Malloc|Free|MallocManaged|MallocPitch|MallocHost|HostAlloc|HostMalloc|FreeHost"
    r"|HostFree)$|^cuMem(Alloc|Free|HostAlloc|FreeHost|AllocManaged|Create|Release|Map|Unmap"
    r"|SetAccess)(_v2)?$|DeviceMemAllocator::(Alloc|Free)"
)


def is_device_allocation(name: str) -> bool:
    """Whether a host event of this name asks the driver for memory, or gives it back."""
    return bool(_ALLOCATES.search(name))


@derived
def allocating_names(host: Host) -> Bool:
    """Mask over ``Space.event_metadata``: names of calls that allocate."""
    return entries_shaped(host, is_device_allocation)


@derived
def waiting_names(host: Host) -> Bool:
    """Mask over ``Space.event_metadata``: names of calls that wait for a device."""
    return entries_shaped(host, is_wait_for_device)
