"""Loops as their frameworks record them without marks, or with marks that leave something out.

Times are in microseconds. Each function says what happened; a test works out from its numbers
what the steps are.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.profiles.model import Event, Line, Plane, host, line, plane, space

RECORDING = "Stepscope recording"


def marks(starts: Sequence[float], length: float, name: str = "train") -> list[Event]:
    """Marks of the program, one per start."""
    return [Event(name, at, length, {"step_num": i, "_r": 1}) for i, at in enumerate(starts)]


def fetches(starts: Sequence[float], length: float) -> list[Event]:
    """What TensorFlow records of asking a dataset for its next element."""
    return [Event("IteratorGetNextOp::DoCompute", at, length) for at in starts]


def tf_function(name: str, starts: Sequence[float], length: float, number: int = 7) -> list[Event]:
    """Calls of a tf.function: the call, the eager runtime's and the executor's part of it.

    Args:
        name: Of the function.
        starts: When it is called.
        length: Of each call.
        number: Of the concrete function.
    """
    found = []
    for at in starts:
        how = {"tf_function_call": "notTraced-nonXla", "tracing_count": 1}
        found += [
            Event(name, at, length, how),
            Event("EagerExecute", at + 0.1, length - 0.2, {"is_func": 1}),
            Event(f"EagerLocalExecute: __inference_{name}_{number}", at + 0.2, length - 0.4),
            Event("FunctionRun", at + 0.3, length - 0.6, {"_r": 1}),
        ]
    return found


def jit(name: str, starts: Sequence[float], length: float) -> list[Event]:
    """Calls of a jitted function, each recorded twice as JAX does."""
    found = []
    for at in starts:
        found += [
            Event(f"PjitFunction({name})", at, length),
            Event(f"PjitFunction({name})", at + 0.01, length - 0.02),
            Event("PjRtCpuExecutable::ExecuteHelper", at + 0.1, length - 0.2),
        ]
    return found


def cpu_runs(
    module: str,
    starts: Sequence[float],
    length: float,
    first: int = 100,
    *,
    numbered: bool = True,
    program: int = 3,
) -> Line:
    """Executions of an XLA program on the CPU's pool, two ops each.

    Args:
        module: As XLA names it, "jit_step".
        starts: Of each execution.
        length: Of each.
        first: The number of the first execution.
        numbered: Whether the runtime says which program and execution; before JAX 0.8 it only
            says that it waits.
        program: Its number.
    """
    found = []
    for index, at in enumerate(starts):
        stats = {"run_id": first + index, "hlo_module": module, "program_id": program}
        if numbered:
            half = length / 2
            found += [
                Event("dot.1", at, half, {"hlo_op": "dot.1", **stats}),
                Event("add.2", at + half, half, {"hlo_op": "add.2", **stats}),
            ]
        else:
            found.append(Event("ThunkExecutor::Execute (wait for completion)", at, length))
    return line("tf_XLAPjRtCpuClient/9", *found, id=9)


def gaps(
    spans: Sequence[tuple[float, float]], name: str = "tensorflow", *, at_steps: bool = False
) -> Plane:
    """When a recorder wrote a chunk, as the recorder says it: ``(begin, end)`` of each."""
    stats = {"at_step": 1} if at_steps else {}
    events = [Event(f"{name}: a chunk is written", a, b - a, stats) for a, b in spans]
    return plane(RECORDING, line("not recorded", *events))


def recorded(*events: Event, more: Sequence[Line] = (), planes: Sequence[Plane] = ()) -> bytes:
    """The recording of a thread called "python", with other threads and planes."""
    return space(host(line("python", *events), *more), *planes)


def every(period: float, count: int, first: float = 0.0) -> list[float]:
    """``count`` moments, a period apart."""
    return [first + period * index for index in range(count)]
