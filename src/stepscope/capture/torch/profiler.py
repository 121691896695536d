"""PyTorch's profiler as we want it, in each of its versions."""

from __future__ import annotations

import sys
import types
from typing import Any, Final

from stepscope.capture.options import ProfilerOptions

_COMPILER: Final = "torch._inductor.config"
#: The ``host_tracer_level`` from which shapes of ops are recorded; they cost a sixth of an op more.
_SHAPES_LEVEL: Final = 2


def wants_shapes(options: ProfilerOptions) -> bool:
    """Whether the shapes of ops are asked for."""
    return options.host_tracer_level >= _SHAPES_LEVEL


def new_profile(options: ProfilerOptions, *, is_local: bool, has_shapes: bool) -> Any:
    """A ``torch.profiler.profile`` that has not begun.

    Args:
        options: What is asked for.
        is_local: Watch the thread that begins it, with allocations; else all threads.
        has_shapes: Record the shapes of ops.
    """
    import torch
    from torch._C._profiler import _ExperimentalConfig

    kinds = torch.profiler.ProfilerActivity
    activities = [kinds.CPU]
    if options.device_tracer_level > 0:
        activities += [kind for kind in torch.profiler.supported_activities() if kind != kinds.CPU]
    wanted: dict[str, Any] = {"trace_only": True, "profile_all_threads": not is_local}
    while True:
        try:
            config = _ExperimentalConfig(**wanted)
            break
        except TypeError:
            # Older versions know neither, or only one: slower, and of this thread alone.
            if not wanted:
                raise
            wanted.pop(next(iter(wanted)))
    arguments: dict[str, Any] = {
        "activities": activities,
        "record_shapes": has_shapes,
        "profile_memory": options.memory,
        "with_stack": options.python_tracer_level > 0,
        "experimental_config": config,
    }
    kind = torch.profiler.profile
    if _COMPILER not in sys.modules:
        kind = _without_compiler(kind)
    try:
        return kind(**arguments, acc_events=False)
    except TypeError:  # before 2.5
        return kind(**arguments)


def can_watch_all() -> bool:
    """Whether this PyTorch can record all threads; older ones cannot."""
    try:
        from torch._C._profiler import _ExperimentalConfig

        _ExperimentalConfig(profile_all_threads=True)
    except (ImportError, TypeError):
        return False
    return True


def _without_compiler(kind: Any) -> Any:
    """The class ``torch.profiler.profile`` for a program that has not loaded PyTorch's compiler.

    A profile that begins asks whether there is a compiler, and that loads 800 modules on this
    thread, for seconds. A program that loads them at that moment itself (its first optimizer does)
    fails: the two threads wait for each other, and Python lets one go on with modules that are
    half there. A compiler that is not loaded has compiled nothing: the answer "none" is right.
    """
    function = getattr(kind, "prepare_trace", None)
    if not isinstance(function, types.FunctionType) or "torch" not in function.__globals__:
        return kind
    names = {**function.__globals__, "torch": _NoCompiler(function.__globals__["torch"])}
    copy = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return type(kind.__name__, (kind,), {"prepare_trace": copy})


class _NoCompiler:
    """A module without its ``_inductor``."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name == "_inductor":
            raise AttributeError(name)
        return getattr(self._module, name)
