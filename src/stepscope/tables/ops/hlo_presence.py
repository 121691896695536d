"""Whether device-level ops ran, XLA's among them, and ops of known FLOPs: without their sums.

Each question is that of ``sums.hlo_ops.profile_totals``, asked of events until the first that
answers it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import compress

import numpy as np

from stepscope.columns.space import Bool
from stepscope.schema import names
from stepscope.tables.core.presence import Stretch, any_stretch, stat_rows
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.device.events import device_lines, has_device_events
from stepscope.tables.hlo.modules import hlo_modules
from stepscope.tables.hlo.recorded_costs import entries_of_op_lines, recorded_flops
from stepscope.tables.host.events import host_thread_rows
from stepscope.tables.host.ops import has_host_ops, op_mask
from stepscope.tables.torch.presence import has_shaped_calls


def has_device_ops(profile: Profile) -> bool:
    """Whether any op ran, on a device or on the host."""
    return any(
        has_device_events(host) or has_host_ops(host, executed=True) for host in profile.hosts
    )


def has_compiled_ops(profile: Profile) -> bool:
    """Whether an op ran that XLA compiled."""
    return any(_any_compiled(host, on_device) for host, on_device in _sides(profile))


def has_known_flops(profile: Profile) -> bool:
    """Whether an op ran whose FLOPs are known."""
    return any(_any_costed(host, on_device) for host, on_device in _sides(profile))


def _sides(profile: Profile) -> Iterator[tuple[Host, bool]]:
    """The hosts whose ops count, and whether those of their devices: not the CPU's beside them."""
    with_devices = [host for host in profile.hosts if has_device_events(host)]
    return ((host, bool(with_devices)) for host in with_devices or profile.hosts)


def _any_compiled(host: Host, on_device: bool) -> bool:
    recorded = entries_of_op_lines(host) & on_device
    if not recorded.any() and names.HLO_OP not in stat_rows(host):
        return False

    def is_compiled(stretch: Stretch, ran: Bool) -> bool:
        if (recorded[stretch.entry] & ran).any():
            return True
        return any(compress(_hlo_ops(stretch), ran))

    return _any_op(host, on_device, is_compiled)


def _any_costed(host: Host, on_device: bool) -> bool:
    if on_device and has_shaped_calls(host):
        from stepscope.tables.torch.costs import cost_of
        from stepscope.tables.torch.op_calls import op_calls

        costs = map(cost_of, op_calls(host).signatures)
        if not all(math.isnan(cost.flops) for cost in costs):
            return True
    recorded = entries_of_op_lines(host) & on_device
    known = recorded & ~np.isnan(recorded_flops(host))
    stats = stat_rows(host)
    by_module = bool(len(hlo_modules(host))) and names.HLO_OP in stats
    if not known.any() and not by_module and names.FLOPS not in stats:
        return False
    is_known = _instructions(host)

    def is_costed(stretch: Stretch, ran: Bool) -> bool:
        if (known[stretch.entry] & ran).any():
            return True
        if stretch.has(names.FLOPS).any() and (ran & (stretch.ints(names.FLOPS, -1) >= 0)).any():
            return True
        compiled = ran & ~recorded[stretch.entry]
        if not by_module or not (compiled & stretch.has(names.HLO_OP)).any():
            return False
        programs = stretch.ints(names.PROGRAM_ID, 0).tolist()
        pairs = {*compress(zip(programs, _hlo_ops(stretch), strict=True), compiled.tolist())}
        return any(is_known(program, name) for program, name in pairs if name)

    return _any_op(host, on_device, is_costed)


def _any_op(host: Host, on_device: bool, test: Callable[[Stretch, Bool], bool]) -> bool:
    """Whether the test is true of a stretch and the mask of the ops in it that ran."""
    if on_device:
        return any_stretch(host, device_lines(host), lambda one: test(one, one.timed))
    is_op = op_mask(host, executed=True)
    return any_stretch(host, host_thread_rows(host).tolist(), lambda one: test(one, is_op(one)))


def _hlo_ops(stretch: Stretch) -> list[str]:
    """The HLO op that each event names, "" for none."""
    if not stretch.has(names.HLO_OP).any():
        return [""] * len(stretch.entry)
    return stretch.texts(names.HLO_OP)


def _instructions(host: Host) -> Callable[[int, str], bool]:
    """Tells whether the FLOPs of an HLO op of a program follow from its module."""
    from stepscope.tables.hlo.cost import CostAnalysis

    @cache
    def costs(program: int) -> CostAnalysis | None:
        module = hlo_modules(host).get(program)
        return None if module is None else CostAnalysis(module)

    @cache
    def is_known(program: int, hlo_op: str) -> bool:
        module, cost = hlo_modules(host).get(program), costs(program)
        if module is None or cost is None:
            return False
        found = module.instructions.get(hlo_op.rpartition("::")[2])
        return found is not None and not math.isnan(cost.of(found).flops)

    return is_known
