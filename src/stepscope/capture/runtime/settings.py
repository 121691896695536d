"""Settings of the frameworks that make every step slower, as they are when the recording ends.

A recording shows what a debugging switch does, seldom that it was on; the program knows. Nothing
is imported, and what a framework does not know is left out: only modules that are loaded are asked.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, Final

from stepscope.schema import names

Modules = Mapping[str, ModuleType]
# Objects that are looked at for parameters: some 0.1 s of them.
_MOST_OBJECTS: Final = 2_000_000
# Switches of JAX's that check or repeat each computation.
_OF_JAX: Final = (
    "jax_enable_x64", "jax_debug_nans", "jax_debug_infs", "jax_disable_jit", "jax_log_compiles",
    "jax_check_tracer_leaks",
)  # fmt: skip


def settings_facts(modules: Modules | None = None) -> dict[str, int | str]:
    """What differs from the default, by name; values are "on" or a data type."""
    loaded = sys.modules if modules is None else modules
    facts: dict[str, int | str] = {}
    for asked in (_of_torch, _of_tensorflow, _of_jax):
        # A framework that is half imported, or of a version without the switch, says nothing.
        with contextlib.suppress(Exception):
            for name, value in asked(loaded):
                facts[names.SETTING + name] = value
    return facts


def _of_torch(loaded: Modules) -> Iterator[tuple[str, str]]:
    torch: Any = loaded.get("torch")
    if torch is None:
        return
    if torch.is_anomaly_enabled():
        yield "torch_anomaly_mode", "on"
    if torch.are_deterministic_algorithms_enabled():
        yield "torch_deterministic_algorithms", "on"
    kind = _parameter_type(torch.nn.Parameter)
    if kind and kind != "float32":
        yield names.PARAMETERS, kind


def _parameter_type(parameter: type) -> str:
    """The data type that most of the model's numbers have; "" without parameters."""
    count: Counter[str] = Counter()
    for at, one in enumerate(gc.get_objects()):
        if at >= _MOST_OBJECTS:
            break
        # Only the type is asked: of proxies that import what they stand for, nothing else.
        if issubclass(type(one), parameter):
            count[str(one.dtype).removeprefix("torch.")] += one.numel()
    return count.most_common(1)[0][0] if count else ""


def _of_tensorflow(loaded: Modules) -> Iterator[tuple[str, str]]:
    tensorflow: Any = loaded.get("tensorflow")
    config = getattr(tensorflow, "config", None)
    if config is not None and config.functions_run_eagerly():
        yield "tf_run_functions_eagerly", "on"
    keras: Any = loaded.get("keras")
    floatx: Callable[[], str] | None = getattr(getattr(keras, "config", None), "floatx", None)
    floatx = floatx or getattr(getattr(keras, "backend", None), "floatx", None)
    if floatx is not None and floatx() != "float32":
        yield names.PARAMETERS, floatx()


def _of_jax(loaded: Modules) -> Iterator[tuple[str, str]]:
    config: Any = getattr(loaded.get("jax"), "config", None)
    for name in _OF_JAX if config is not None else ():
        if getattr(config, name, False):
            yield name, "on"
