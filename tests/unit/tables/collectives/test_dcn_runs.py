"""Runs of collectives between slices: what belongs together, what it costs, what it sends."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.formats.xspace import decode
from stepscope.tables.collectives.dcn_ops import DcnRole, dcn_ops, sent_bytes
from stepscope.tables.collectives.dcn_runs import DcnRuns, dcn_runs
from stepscope.tables.core.profile import Host, Profile
from tests.profiles.dcn import ROLES, Collective, Op, slices
from tests.profiles.model import Plane, space

US = 1_000_000
GRADIENTS = Collective("all-reduce.1", 1)
ACTIVATIONS = Collective("permute.2", 2, transfer_type="ONE_TO_ONE")


def profile(*hosts: list[Plane]) -> Profile:
    return Profile("p", tuple(Host(f"h{at}", decode(space(*one))) for at, one in enumerate(hosts)))


def runs(*ops: Op, of: tuple[Collective, ...] = (GRADIENTS,)) -> DcnRuns:
    return dcn_runs(profile(slices(*of, run=ops)))


def test_the_four_ops_of_a_run() -> None:
    found = runs(
        ("send.1", 10, 4), ("recv.1", 14, 1), ("send-done.1", 20, 3), ("recv-done.1", 50, 30)
    )
    assert found.role_ps.T.tolist() == [[4 * US, 3 * US, 1 * US, 30 * US]]
    assert found.stall_ps.tolist() == [38 * US]
    assert found.observed_ps.tolist() == [70 * US]
    # 10 to 50, less 4 of the send, 1 of the recv, 3 of the send-done.
    assert found.slack_ps.tolist() == [32 * US]
    assert (found.send_op, found.recv_op) == (["send.1"], ["recv-done.1"])


def test_other_collectives_take_from_the_slack() -> None:
    found = runs(
        ("send.1", 0, 1),
        ("send.2", 10, 2),
        ("recv-done.2", 20, 5),
        ("recv-done.1", 40, 1),
        of=(GRADIENTS, ACTIVATIONS),
    )
    slack = {
        found.collectives[at].rendezvous: ps
        for at, ps in zip(found.collective, found.slack_ps, strict=True)
    }
    assert slack == {"all-reduce.1": (40 - 1 - 2 - 5) * US, "permute.2": (10 - 2) * US}


def test_transfers_that_stay_with_the_host_are_no_collectives_and_take_from_the_slack() -> None:
    callback = Collective("callback.3", 3, transfer_type="", group=0, handler="pluginexec")
    found = runs(
        ("send.1", 0, 1), ("send.3", 5, 6), ("recv-done.1", 40, 1), of=(GRADIENTS, callback)
    )
    assert [one.rendezvous for one in found.collectives] == ["all-reduce.1"]
    assert found.slack_ps.tolist() == [(40 - 1 - 6) * US]
    assert len(found.lone_collective) == 0


def test_the_recv_may_be_posted_before_the_send_and_the_send_may_be_done_last() -> None:
    once = [("recv.1", 0, 2), ("send.1", 10, 3), ("recv-done.1", 20, 4), ("send-done.1", 30, 5)]
    found = runs(*once, *((name, start + 100, length) for name, start, length in once))
    assert found.role_ps.T.tolist() == [[3 * US, 5 * US, 2 * US, 4 * US]] * 2


def test_a_run_may_lack_a_recv_and_a_send_done() -> None:
    found = runs(("send.1", 0, 1), ("recv-done.1", 10, 2))
    assert found.role_ps.T.tolist() == [[US, -1, -1, 2 * US]]
    assert found.stall_ps.tolist() == [3 * US]


def test_what_an_edge_cuts_is_told_from_what_is_missing() -> None:
    cut = runs(("recv-done.1", 0, 1), ("send.1", 10, 1), ("recv-done.1", 20, 1), ("send.1", 30, 1))
    assert len(cut) == 1
    assert cut.lone_is_cut.tolist() == [True, True]
    missing = runs(
        ("send.1", 0, 1), ("send.1", 10, 1), ("recv-done.1", 20, 1), ("recv-done.1", 30, 1)
    )
    assert missing.slack_ps.tolist() == [9 * US]
    assert missing.lone_is_cut.tolist() == [False, False]


def test_done_ops_are_found_by_their_channel() -> None:
    silent = Collective("all-reduce.1", 1, done_named=False)
    assert len(runs(("send.1", 0, 1), ("recv-done.1", 10, 2), of=(silent,))) == 1


def test_tpus_and_hosts_do_not_mix() -> None:
    half, other = [("send.1", 0, 1)], [("recv-done.1", 10, 2)]
    found = dcn_runs(
        profile(
            slices(GRADIENTS, run=half, more=[other]),
            slices(GRADIENTS, run=other, more=[[*half, *other]]),
        )
    )
    assert len(found.collectives) == 1
    assert found.host.tolist() == [1]
    assert found.lone_host.tolist() == [0, 0, 1]


def test_the_type_comes_from_the_program_or_from_the_recorder() -> None:
    for one in (
        Collective("a", 1, transfer_type="ALL_GATHER", group=4),
        Collective("a", 1, transfer_type="ALL_GATHER", group=0),
    ):
        (op, *_rest) = dcn_ops(profile(slices(one, run=[])).hosts[0]).values()
        assert op.collective.transfer_type == "ALL_GATHER"
    (told,) = {op.collective for op in dcn_ops(_told_by_the_recorder()).values()}
    assert (told.transfer_type, told.sent_bytes) == ("ALL_REDUCE", 4096.0)


def _told_by_the_recorder() -> Host:
    """The program names no type; the info of the same ops does."""
    silent = slices(Collective("a", 1, transfer_type="", handler=""), run=[])
    telling = slices(Collective("a", 1), run=[])
    return profile([silent[0], silent[1], telling[2]]).hosts[0]


@pytest.mark.parametrize("info", [b"\x0a\xff", 1 << 62, "text", b"\x08\x63"])
def test_info_that_is_none_says_nothing(info: bytes | int | str) -> None:
    planes = slices(GRADIENTS, run=[])
    kinds = {
        name: replace(kind, stats={**kind.stats, "dcn_collective_info": info})
        for name, kind in planes[2].kinds.items()
    }
    planes[2] = replace(planes[2], kinds=kinds)
    (told,) = {op.collective for op in dcn_ops(profile(planes).hosts[0]).values()}
    assert (told.transfer_type, told.sent_bytes) == ("ALL_REDUCE", None)


@pytest.mark.parametrize(
    ("transfer_type", "group", "sent"),
    [
        ("ONE_TO_ONE", 0, 1200),
        ("ALL_REDUCE", 4, 1800),  # 3/4 to the others' parts, and 3/4 back
        ("ALL_GATHER", 4, 900),
        ("ALL_TO_ALL", 4, 900),
        ("REDUCE_SCATTER", 4, 3600),  # a part of this size to each of the three others
        ("ALL_REDUCE", 1, 0),
        ("ALL_REDUCE", 0, None),
        ("RAGGED_ALL_TO_ALL", 4, None),
        ("", 4, None),
    ],
)
def test_what_one_member_sends(transfer_type: str, group: int, sent: float | None) -> None:
    assert sent_bytes(transfer_type, 1200, group) == sent


def slow_twin(kinds: list[int]) -> tuple[list[list[int]], list[int]]:
    """Runs as rows of (send, send-done, recv, recv-done) places, and the lone halves."""
    halves = [at for at, kind in enumerate(kinds) if kind in (DcnRole.SEND, DcnRole.RECV_DONE)]
    found, paired = [], set()
    for send, done in pairwise(halves):
        if (kinds[send], kinds[done]) != (DcnRole.SEND, DcnRole.RECV_DONE):
            continue
        paired |= {send, done}
        send_done = recv = -1
        for at in range(send + 1, len(kinds)):
            if kinds[at] == DcnRole.SEND:
                break
            if kinds[at] == DcnRole.SEND_DONE:
                send_done = at
                break
        for at in range(done - 1, -1, -1):
            if kinds[at] == DcnRole.RECV_DONE:
                break
            if kinds[at] == DcnRole.RECV:
                recv = at
                break
        found.append([send, send_done, recv, done])
    return found, [at for at in halves if at not in paired]


@given(st.lists(st.lists(st.integers(0, 3), max_size=12), min_size=1, max_size=3))
def test_pairs_as_the_slow_twin(tpus: list[list[int]]) -> None:
    ran = [[(f"{ROLES[kind]}.1", 10 * at, at + 1) for at, kind in enumerate(one)] for one in tpus]
    found = dcn_runs(profile(slices(GRADIENTS, run=ran[0], more=ran[1:])))
    wanted, lone = [], 0
    for one in tpus:
        rows, left = slow_twin(one)
        wanted += rows
        lone += len(left)
    # An op's duration is its place, from 1: it tells which op was taken.
    places = np.where(found.role_ps >= 0, found.role_ps // US - 1, -1)
    assert places.T.tolist() == wanted
    assert len(found.lone_collective) == lone
