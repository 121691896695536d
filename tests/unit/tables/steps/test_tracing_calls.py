"""A tf.function that is traced in each step builds graphs, which is not compute."""

from __future__ import annotations

import pytest

from stepscope.columns import distinct
from stepscope.formats.xspace import decode
from stepscope.tables.account.account import account
from stepscope.tables.account.native import COMPILE
from stepscope.tables.core.profile import Host
from stepscope.tables.steps.attribution import steps, tracing_spans
from tests.profiles import space
from tests.profiles.model import EventLike, host, line


def traced(how: str) -> Host:
    """Eight steps of 1 ms, of which a call has 900 µs and the op that it runs at its end 200."""
    main: list[EventLike] = []
    pool: list[EventLike] = []
    for number in range(8):
        begin = 1000.0 * number
        main += [
            ("train", begin, 990.0, {"step_num": number, "_r": 1}),
            ("rank", begin + 20, 900.0, {"tf_function_call": how, "tracing_count": number + 1}),
        ]
        pool += [("net/dense/MatMul:MatMul", begin + 700, 200.0)]
    thread = line("tf_Compute/1", *pool)
    return Host("h", decode(space(host(line("python", *main), thread))))


def accounted_us(host: Host) -> list[float]:
    """Compilation in each kept step, as the step's account has it."""
    found = account(host)
    assert found is not None
    spent = found.time_ps[found.kind == COMPILE].sum(axis=0) / 1e6
    return list(spent.tolist())


@pytest.mark.parametrize(
    ("how", "compiles_us"), [("traced-nonXla", 700.0), ("notTraced-nonXla", 0)]
)
def test_a_call_that_traces_compiles_but_for_the_ops_it_runs(how: str, compiles_us: float) -> None:
    one = traced(how)
    found = steps(one)
    assert found is not None
    spent = found.parts_ps["compilation"] / 1e6
    assert spent.tolist() == pytest.approx([compiles_us] * len(spent))
    assert accounted_us(one) == pytest.approx(spent[found.kept].tolist())
    begin, until, calls = tracing_spans(one)
    assert ((until - begin).sum() > 0) == (compiles_us > 0)
    assert len(begin) == len(calls)


def test_a_call_of_jax_that_compiles_also_traces() -> None:
    """Every second call compiles for 400 of its 900 µs, and runs an op for 200; a pool compiles."""
    main: list[EventLike] = []
    pool: list[EventLike] = []
    for number in range(8):
        begin = 1000.0 * number
        main += [
            ("train", begin, 990.0, {"step_num": number, "_r": 1}),
            ("PjitFunction(step)", begin + 20, 900.0),
        ]
        main += [("PjRtCpuClient::Compile", begin + 200, 400.0)] * (number % 2)
        pool += [("dot.1", begin + 700, 200.0, {"hlo_op": "dot.1", "hlo_module": "jit_step"})]
        pool += [("PjRtCpuClient::Compile", begin + 300, 100.0)] * (1 - number % 2)
    threads = (line("python", *main), line("tf_XLAEigen/1", *pool))
    one = Host("h", decode(space(host(*threads))))
    _begin, _until, calls = tracing_spans(one)
    starts = one.space.events.start_ps[distinct(calls)] / 1e9
    assert starts.tolist() == pytest.approx([1.02, 3.02, 5.02, 7.02])
    found = steps(one)
    assert found is not None
    spent = found.parts_ps["compilation"] / 1e6
    assert spent[1::2].tolist() == pytest.approx([700.0] * 4)
    assert accounted_us(one)[::2] == pytest.approx(spent[found.kept][::2].tolist())
