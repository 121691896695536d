"""What TPUs of several slices exchange over the data-centre network, as collectives of a summary.

A TPU arrives where it sends and leaves when it has received; it stands still while an op waits for
what it receives. The rendezvous says what belongs together. Which slices exchange is not recorded
with the ops, but TPUs do it with those at their own place in other slices: all at one place of
their hosts are taken to be one communicator, and ``is_guess`` says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.columns.space import I64
from stepscope.tables.collectives.dcn_ops import DcnCollective, DcnRole, has_dcn_collectives
from stepscope.tables.collectives.dcn_runs import dcn_runs
from stepscope.tables.collectives.identity import Communicator, kind_of
from stepscope.tables.core.profile import Profile

_KINDS: Final = {"ONE_TO_ONE": "send_recv", "RAGGED_ALL_TO_ALL": "all_to_all"}


@dataclass(frozen=True, eq=False, slots=True)
class SliceMeetings:
    """One row per exchange of a TPU.

    Attributes:
        device: Place among the planes that were asked for.
        communicator: Place in ``communicators``.
        start_ps, duration_ps: From the begin of the send to the end of the receipt.
        exposed_ps: Of that, how long the TPU waits for what it receives.
        communicators: Who meets.
    """

    device: I64
    communicator: I64
    start_ps: I64
    duration_ps: I64
    exposed_ps: I64
    communicators: list[Communicator]


def slice_meetings(profile: Profile, planes: list[int]) -> SliceMeetings:
    """The exchanges between slices of a profile's only host.

    Args:
        profile: The host alone.
        planes: Rows in ``Space.planes`` of its devices.
    """
    if planes == [-1] or not has_dcn_collectives(profile):
        nothing = np.zeros(0, dtype=np.int64)
        return SliceMeetings(nothing, nothing, nothing, nothing, nothing, [])
    (host,) = profile.hosts
    runs = dcn_runs(profile)
    kept = np.flatnonzero(np.isin(runs.device, planes))
    both = np.stack([runs.collective[kept], runs.device[kept]])
    used, communicator = np.unique(both, axis=1, return_inverse=True)
    communicators = [
        _communicator(runs.collectives[one], host.space.planes[plane].name)
        for one, plane in used.T.tolist()
    ]
    place = {plane: at for at, plane in enumerate(planes)}
    device = np.asarray([place[one] for one in runs.device[kept].tolist()], dtype=np.int64)
    waited = np.maximum(runs.role_ps[DcnRole.RECV_DONE, kept], 0)
    return SliceMeetings(
        device=device,
        communicator=communicator.ravel().astype(np.int64),
        start_ps=runs.start_ps[kept],
        duration_ps=runs.observed_ps[kept],
        exposed_ps=np.minimum(waited, runs.observed_ps[kept]),
        communicators=communicators,
    )


def _communicator(one: DcnCollective, plane: str) -> Communicator:
    said = one.transfer_type
    kind = _KINDS.get(said, said.lower()) or kind_of(one.rendezvous)
    key = f"dcn/{one.program}/{one.rendezvous}/{kind}/{plane}"
    return Communicator(key, one.rendezvous, kind, 0, (), is_guess=True)
