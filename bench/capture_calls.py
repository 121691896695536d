"""What an annotation costs, and what hearing of every Python call adds to one.

python -m bench.capture_calls annotations|calls|viztracer

Prints JSON; nanoseconds, the best of several repetitions.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import timeit
from collections.abc import Callable
from typing import Any, Final

COUNT: Final = 200_000


def leaf(x: int) -> int:
    """What is called."""
    return x


def loop(count: int) -> None:
    """Calls it."""
    for number in range(count):
        leaf(number)


def per_turn(call: Callable[[], object], count: int, repeat: int = 5) -> float:
    """Nanoseconds of one turn of a loop of ``count``."""
    return min(timeit.repeat(call, number=1, repeat=repeat)) / count * 1e9


def cost_of_annotations() -> dict[str, float]:
    """``with Trace(…)``, less what the loop itself costs."""
    import stepscope

    trace = stepscope.Trace

    def annotated() -> None:
        for _ in range(COUNT):
            with trace("x"):
                pass

    def empty() -> None:
        for _ in range(COUNT):
            pass

    bare = per_turn(empty, COUNT)
    off = per_turn(annotated, COUNT)
    with tempfile.TemporaryDirectory() as folder:
        options = stepscope.ProfilerOptions(sample_hz=0, telemetry_hz=0, frameworks=())
        stepscope.start(folder, options)
        on = per_turn(annotated, COUNT, repeat=2)
        stepscope.stop()
    return {"off": off - bare, "on": on - bare}


def cost_of_calls() -> dict[str, float]:
    """What our tracer adds to each call, and to each call that is filtered out."""
    from stepscope.capture.options import ProfilerOptions
    from stepscope.capture.recorders.python_calls import PythonCalls

    bare = per_turn(lambda: loop(COUNT), COUNT)
    found = {}
    for name, given in (
        ("traced", {"trace_lines": False}),
        ("traced with lines", {}),
        ("filtered out", {"trace_include": ("nothing",)}),
    ):
        recorder = PythonCalls()
        options: Any = {"trace_python": True, **given}
        recorder.start(ProfilerOptions(**options))
        found[name] = per_turn(lambda: loop(COUNT), COUNT) - bare
        recorder.drop()
    return found


def cost_of_viztracer() -> dict[str, float]:
    """The same for viztracer, which is written in C."""
    module: Any = importlib.import_module("viztracer")
    bare = per_turn(lambda: loop(COUNT), COUNT)
    tracer = module.VizTracer(verbose=0, tracer_entries=2 * COUNT, ignore_c_function=True)
    tracer.start()
    traced = per_turn(lambda: loop(COUNT), COUNT) - bare
    tracer.stop()
    tracer.clear()
    return {"viztracer": traced}


def main() -> None:
    """Measure what the argument names and print it."""
    measured = {
        "annotations": cost_of_annotations,
        "calls": cost_of_calls,
        "viztracer": cost_of_viztracer,
    }
    print(json.dumps(measured[sys.argv[1]]()))


if __name__ == "__main__":
    main()
