"""Every moment of a step has one owner: each number worked out by hand from the picture."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
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


def test_what_the_thread_waits_for_has_the_time_it_waits() -> None:
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        .F------...F-----...
          tf_pool  ..OOOO......OO......
        """,
        F=event("FunctionRun"),
        O=event("a/MatMul:MatMul"),
    )
    # 700 + 600 µs of calls, 400 + 200 of which an op runs; 300 + 400 are outside of them.
    assert told(one) == {
        ("op", "a/MatMul"): 0.6,
        ("framework", ""): 0.7,
        ("unrecorded", ""): 0.7,
    }


def test_python_has_what_the_thread_does_itself_though_something_computes_beside_it() -> None:
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        PPPPPPPP..PPPPPPPP..
          tf_pool  OO........OO........
        """,
        P=event("$train.py:12 prepare"),
        O=event("a/MatMul:MatMul"),
    )
    assert told(one)["python", "prepare"] == 1.6


def test_what_is_waited_for_later_is_not_hidden_by_what_python_does_meanwhile() -> None:
    """Without the function the thread would only wait longer: 800 µs are the op's."""
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        PPPPWWWW..PPPPWWWW..
          tf_pool  OOOOOOOO..OOOOOOOO..
        """,
        P=event("$train.py:12 prepare"),
        W=event("BlockHostUntilReady"),
        O=event("a/MatMul:MatMul"),
    )
    assert told(one)["op", "a/MatMul"] == 1.6


def test_a_loop_of_small_ops_in_a_compiled_program_is_one_part() -> None:
    """Tanh, add and a product of 200 µs: the loop has 700 µs, of which the product is the least."""
    picture = """
        /host:CPU
          python   S---------S---------
          "        W--------.W--------.
          tf_pool  TTAAADDM..TTAAADDM..
        """
    loop = {
        "T": event("jit(f)/while/body/tanh:tanh"),
        "A": event("jit(f)/while/body/add:add"),
        "D": event("jit(f)/while/body/dot_general:dot_general"),
        "M": event("jit(f)/mul:mul"),
    }
    found = account(host(picture, W=event("BlockHostUntilReady"), **loop))
    assert found is not None
    made = {one.name: one.total_ps / 1e9 for one in parts(found) if one.kind == "op"}
    assert made == {"while": pytest.approx(1.4), "mul": pytest.approx(0.2)}
    products = picture.replace("AAADD", "ADDDD")
    found = account(host(products, W=event("BlockHostUntilReady"), **loop))
    assert found is not None
    assert next(one.name for one in parts(found) if one.kind == "op") == "dot_general"


LOOPED = """
/host:CPU
  python   S-------------------S-------------------
  "        L---------------M---L---------------M---
  "        .O.O.O.O.O.O.O.OC---.O.O.O.O.O.O.O.OC---
"""


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        ("Sum:Sum", "eager"),
        ("aten/sum:sum", "eager"),
        ("MatMul:MatMul", "python"),  # the model runs there
        ("block/Sum:Sum", "python"),  # of a compiled function, or named by a layer
        ("Optimizer.step#Adam.step", "framework"),  # a rule knows it
    ],
)
def test_ops_that_the_program_calls_in_a_loop_are_its_part(op: str, kind: str) -> None:
    """Eight runs a step from one function; the model's product is called from another."""
    one = host(
        LOOPED,
        L=event("$train.py:12 report"),
        M=event("$train.py:30 train"),
        O=event(op),
        C=event("aten/mm:mm"),
    )
    found = account(one)
    assert found is not None
    made = {part.name: part for part in parts(found)}
    assert made["report"].kind == kind
    if kind == "eager":  # 800 µs of ops and 800 between them, in each of two steps
        assert made["report"].total_ps / 1e9 == pytest.approx(3.2)


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


def test_without_python_the_gaps_in_a_loop_of_ops_are_of_the_loop() -> None:
    """24 sums of 100 µs a step, 100 µs apart; the 2.4 ms before they are saved are not."""
    one = host(
        f"""
        /host:CPU
          python   {2 * ("S" + 71 * "-" + "-")}
          "        {2 * (24 * "O." + 24 * "." + "B")}
        """,
        O=event("Sum:Sum"),
        B=event("Save:Save"),
    )
    found = account(one)
    assert found is not None
    made = {part.kind: part.total_ps / 1e9 for part in parts(found)}
    assert made == {
        "eager": pytest.approx(2 * (2.4 + 2.3 + 0.1)),
        "unrecorded": pytest.approx(2 * 2.5),
    }


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


def test_what_python_calls_to_collect_garbage_is_of_the_call_it_happens_in() -> None:
    """C code that reads JSON makes many objects; JAX asked for a callback at collections."""
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        A---------A---------
          "        .J------...J------..
          "        ..G----.....G----...
        """,
        A=event("$train.py:12 read_config"),
        J=event("$decoder.py:343 raw_decode"),
        G=event("$__init__.py:132 _xla_gc_callback"),
    )
    assert told(one) == {("python", "read_config"): 0.6, ("library", "decoder.raw_decode"): 1.4}


def test_kernels_of_a_replayed_graph_are_told_apart_by_their_names() -> None:
    """Words say why they have no op."""
    name = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>(int)"
    replayed = {"tf_op": "Replayed from a graph"}
    one = host(
        """
        /host:CPU
          python         S---------S---------
        /device:GPU:0
          Stream #7      CCCCCVV...CCCCCVV...
        """,
        C=event("Cijk_Alik_Bljk_BBS_BH_MT256x32x64", **replayed),
        V=event(name, **replayed),
    )
    found = account(one)
    assert found is not None
    made = {part.name: part.total_ps / 1e9 for part in parts(found) if part.kind == "op"}
    assert made == {
        "matmul": pytest.approx(1.0),
        "vectorized_elementwise_kernel": pytest.approx(0.4),
    }


def test_where_a_device_runs_the_model_the_host_does_not_loop_around_ops() -> None:
    """The place that launches the products is the model's, wherever they run."""
    one = host(
        LOOPED
        + """
        /device:GPU:0
          Stream #7  .K---------------K--.K---------------K--
        """.replace("        ", ""),
        L=event("$train.py:12 report"),
        M=event("$train.py:30 train"),
        O=event("aten/add:add"),
        C=event("aten/relu:relu"),
        K=event("ampere_sgemm_128x64", tf_op="aten/mm:mm"),
    )
    found = account(one)
    assert found is not None
    assert "eager" not in {part.kind for part in parts(found)}


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


def test_a_librarys_files_are_known_where_the_tracer_wrote_no_path() -> None:
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        A---------A---------
          "        .F------...F------..
          "        ..C---......C---....
        """,
        A=event("$train.py:12 log"),
        F=event("$frame.py:700 __init__"),
        C=event("$construction.py:580 sanitize_array"),
    )
    found = owner_named(one, "frame.__init__")
    assert (found.kind, found.function, round(found.total_ps / 1e9, 6)) == ("library", "log", 1.4)


def test_a_library_is_told_by_its_public_name_and_from_where_it_is_called() -> None:
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        A---------A---------
          "        .D----.....D----....
          "        ..E--.......E--.....
        """,
        A=event("$train.py:12 log_step"),
        D=event("$encoder.py:183 dumps"),
        E=event("$encoder.py:205 iterencode"),
    )
    assert told(one) == {("library", "encoder.dumps"): 1.0, ("python", "log_step"): 1.0}
    place = owner_named(one, "encoder.dumps")
    assert (place.function, place.file, place.line) == ("log_step", "train.py", 12)


def test_the_steps_parts_are_functions_with_all_they_call() -> None:
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        .A------...A------..
          "        ..D----.....D----...
          tf_pool  ................O-..
        """,
        A=event("$train.py:12 log_step"),
        D=event("$encoder.py:183 dumps"),
        O=event("a/Sort:TopKV2"),
    )
    found = account(one)
    assert found is not None
    first = parts(found)[0]
    assert (first.kind, first.name, first.total_ps) == ("library", "log_step", 1_400_000_000)
    assert [owner.name for owner in first.owners] == ["encoder.dumps", "log_step"]


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


def test_a_host_without_events_has_no_account() -> None:
    assert account(Host("h", decode(space()))) is None


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


def test_a_program_that_sleeps_until_the_work_is_done_waits_for_the_work() -> None:
    """Three sleeps a step, and looks whether the op has ended between them."""
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        M--------.M--------.
          "        .W-W-W-.....W-W-W-..
          tf_pool  .OOOOOO.....OOOOOO..
        """,
        M=event("$train.py:12 wait_ready"),
        W=event("$time sleep"),
        O=event("a/MatMul:MatMul"),
    )
    assert owner_named(one, "a/MatMul").total_ps == 1_200_000_000


def test_what_the_loops_thread_itself_does_to_make_a_batch_is_input() -> None:
    one = host(
        """
        /host:CPU
          python   S---------S---------
          "        IIIIII....IIIIII....
          "        .RRRR......RRRR.....
        """.replace("IIIIII", "I-----").replace("RRRR", "R---"),
        I=event("Iterator::Prefetch", _ct=7),
        R=event("InstantiatedCapturedFunction::Run"),
    )
    kinds = {kind for kind, _name in told(one)}
    assert "framework" not in kinds
    assert sum(time for (kind, _), time in told(one).items() if kind == "input") == 1.2


@pytest.mark.parametrize(
    ("thread", "kernels", "runs"),
    [
        ("W.W.W.W.W.", ".K-------.", 1),  # one kernel, while the thread polls five times
        ("W.W.W.W.W.", ".K--.K--..", 2),
        ("W-W-W-W-W-", ".K-KK-K-..", 4),
    ],
)
def test_what_the_waiting_thread_does_makes_no_runs_of_a_kernel(
    thread: str, kernels: str, runs: int
) -> None:
    one = host(
        f"""
        /host:CPU
          python     {4 * "S---------"}
          "          {4 * thread}
        /device:GPU:0
          Stream #7  {4 * kernels}
        """,
        W=event("cudaEventQuery"),
        K=event("sgemm"),
    )
    found = account(one)
    assert found is not None
    (kernel,) = (owner for owner in owners(found) if owner.name == "sgemm")
    assert kernel.stretches == runs * int(found.found.kept.sum())
