"""Every moment of a step has one owner: each number worked out by hand from the picture."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.result import Place
from stepscope.surfaces.format import caller_text
from stepscope.tables.account.account import account
from stepscope.tables.account.owners import Owner, owners
from stepscope.tables.core.profile import Host
from stepscope.tables.parts.grouping import parts
from tests.profiles import draw, event, nth, space
from tests.profiles.drawing import Drawn

STEP = event("train", step_num=nth, _r=1)


def host(picture: str, **events: Drawn) -> Host:
    """Steps of 1 ms, 100 µs a character."""
    return Host("h", decode(space(*draw(picture, unit_us=100, S=STEP, **events))))


def told(one: Host) -> dict[tuple[str, str], float]:
    """Milliseconds in all steps, by kind and name."""
    found = account(one)
    assert found is not None
    total: dict[tuple[str, str], float] = {}
    for owner in owners(found):
        key = (owner.kind, owner.name)
        total[key] = round(total.get(key, 0.0) + owner.total_ps / 1e9, 6)
    assert round(sum(total.values()) * 1e9) == int(found.found.duration_ps[found.found.kept].sum())
    return total


def owner_named(one: Host, name: str) -> Owner:
    found = account(one)
    assert found is not None
    return next(owner for owner in owners(found) if owner.name == name)


LOOPED = """
/host:CPU
  python   S-------------------S-------------------
  "        L---------------M---L---------------M---
  "        .O.O.O.O.O.O.O.OC---.O.O.O.O.O.O.O.OC---
"""


def test_without_python_a_loop_is_told_by_ops_that_are_named_by_their_type_alone() -> None:
    one = host(
        LOOPED.replace("L---------------M---", 20 * "."),
        O=event("Sum:Sum"),
        C=event("gradient_tape/model/MatMul:MatMul"),
    )
    found = account(one)
    assert found is not None
    made = {part.kind: part.total_ps / 1e9 for part in parts(found) if part.kind in ("op", "eager")}
    assert made == {"eager": pytest.approx(1.6), "op": pytest.approx(0.8)}


def test_a_wait_of_jaxs_is_known_where_the_program_that_calls_it_began_before() -> None:
    """``api.py`` could be anybody's; ``block_until_ready`` in it is JAX's."""
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        B-------..B-------..
          "        .T-----....T-----...
        """,
        B=event("$api.py:3154 block_until_ready"),
        T=event("$api.py:3165 try_to_block"),
    )
    assert told(one)["wait", "api.block_until_ready"] == pytest.approx(1.6)
    own = host(
        """
        /host:CPU
          python   S---------S---------
          "        B-------..B-------..
        """,
        B=event("$api.py:20 handle"),
    )
    assert told(own)["python", "handle"] == pytest.approx(1.6)


def test_without_python_an_op_is_told_by_what_the_program_called() -> None:
    """A product within a distance is the distance's, in the names of who called it."""
    picture = """
        /host:CPU
          python   S---------S---------
          "        .D---.M..A.D---.M..A
          "        ..M-........M-......
          "        ..V.........V.......
    """
    letters = {
        "D": event("aten/cdist:cdist"),
        "M": event("aten/mm:mm"),
        "A": event("aten/add:add"),
        "V": event("aten/view:view"),
    }
    found = account(host(picture, **letters))
    assert found is not None
    told = {
        (one.name, one.within): one.total_ps // 10**8 for one in owners(found) if one.kind == "op"
    }
    assert told == {
        ("aten/cdist", ""): 4,
        ("aten/mm", "aten/cdist"): 2,
        ("aten/mm", ""): 2,
        ("aten/add", ""): 2,
    }


def test_a_wait_that_outlasts_the_steps_is_a_wait_though_work_goes_on() -> None:
    """JAX runs behind its calls: one wait at the loop's end, for what all steps asked for."""
    one = host(
        """
        /host:CPU
          python   S---------S---------.....
          "        .L----------------------
          tf_pool  O-----------------------
        """,
        L=event("$train.py:12 main"),
        O=event("a/MatMul:MatMul"),
    )
    assert told(one)["op", "a/MatMul"] == pytest.approx(2.0)


def test_a_package_that_calls_a_function_back_is_named_with_its_caller() -> None:
    numdiff = "/venv/lib/python3.12/site-packages/scipy/optimize/_numdiff.py"
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        A---------A---------
          "        .D------...D------..
          "        .E------...E------..
          "        ..O-----....O-----..
        """,
        A=event("$train.py:12 fit"),
        D=event(f"${numdiff}:275 approx_derivative"),
        E=event(f"${numdiff}:580 _dense_difference"),
        O=event("$/src/train.py:3 objective"),
    )
    called = owner_named(one, "objective").caller
    assert called == "train.py:12 fit by scipy.optimize.approx_derivative"
    place = Place("objective", "train.py", 3, called)
    assert caller_text(place) == "called from fit (:12) by scipy.optimize.approx_derivative"


def test_the_recorders_own_work_is_told_apart() -> None:
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        .........R..........
        """,
        R=event("$profiler.py:271 stop_trace"),
    )
    assert told(one)["recorder", ""] == 0.1


@pytest.mark.parametrize(
    ("call", "kind"), [("$time sleep", "library"), ("$<unknown> acquire", "op")]
)
def test_a_program_that_sleeps_waits_for_nothing_that_computes(call: str, kind: str) -> None:
    """A lock may be held until an op ends; a clock goes on by itself.

    400 of its 600 µs have an op beside them, which may run beside the next step as well.
    """
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        M--------.M--------.
          "        .W-----.......W-----.
          tf_pool  .OOOO.........OOOO..
        """,
        M=event("$train.py:12 back_off"),
        W=event(call),
        O=event("a/MatMul:MatMul"),
    )
    found = account(one)
    assert found is not None
    spent: dict[str, float] = {}
    for owner in owners(found):
        spent[owner.kind] = spent.get(owner.kind, 0.0) + owner.total_ps / 1e9
    assert spent[kind] >= 0.8
    assert ("op" in spent) == (kind == "op")
