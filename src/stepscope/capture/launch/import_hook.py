"""Hooks that run right after the program has imported a module.

A program that profiles itself takes precedence: ``stepscope record`` pauses meanwhile. A process
has one profiler of each framework. Were ours to hold it, a program's own
``tf.profiler.experimental.start`` would raise, in a program that runs well without us.

Keras 3 marks no step that a viewer could find. Its list of callbacks learns of the begin and end
of every batch, for every backend; there the step is marked, innermost, so that callbacks are not
counted as training.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import stepscope
from stepscope.capture import control, step_clock, step_log
from stepscope.capture.options import ProfilerOptions
from stepscope.capture.recorders.annotations import AnnotationRecorder
from stepscope.capture.recorders.start_up import StartUp
from stepscope.capture.runtime import jax_compilation, machine, start_spans
from stepscope.capture.runtime.daemon_thread import beside
from stepscope.capture.runtime.ticker import THREAD_PREFIX
from stepscope.capture.tracing import Trace
from stepscope.schema import names

_KINDS: Final = ("train", "test", "predict")


def _yield_to_tensorflow(module: ModuleType) -> None:
    """Around ``tf.profiler.experimental``; raises ``AttributeError`` where it is another one."""
    _around(module, "start", "stop", "TensorFlow's own profiler")


def _yield_to_jax(module: ModuleType) -> None:
    """Around ``jax.profiler.start_trace``; raises ``AttributeError`` where it is another one."""
    _around(module, "start_trace", "stop_trace", "JAX's own profiler")


def _yield_to_torch(module: ModuleType) -> None:
    """Around ``torch.profiler.profile``; raises ``AttributeError`` where it is another one."""
    _around(module.profile, "start", "stop", "PyTorch's own profiler")


def _is_ours(depth: int = 2) -> bool:
    """Whether the caller of the function that asks is one of our recorders."""
    caller = sys._getframe(depth).f_globals.get("__name__", "")
    return str(caller).startswith("stepscope.")


def _around(owner: Any, begin: str, end: str, profiler: str) -> None:
    begins, ends = getattr(owner, begin), getattr(owner, end)

    @functools.wraps(begins)
    def begun(*args: Any, **kwargs: Any) -> Any:
        if _is_ours():
            return begins(*args, **kwargs)
        control.give_way(profiler)
        try:
            return begins(*args, **kwargs)
        except BaseException:
            control.take_up()
            raise

    @functools.wraps(ends)
    def ended(*args: Any, **kwargs: Any) -> Any:
        if _is_ours():
            return ends(*args, **kwargs)
        try:
            return ends(*args, **kwargs)
        finally:
            control.take_up()

    setattr(owner, begin, begun)
    setattr(owner, end, ended)


class _Steps(threading.local):
    """The step that is open on a thread, and how many of each kind there were."""

    def __init__(self) -> None:
        self.marker: AbstractContextManager[object] | None = None
        self.count = dict.fromkeys(_KINDS, 0)

    def begin(self, kind: str) -> None:
        self.end()
        number = self.count[kind]
        if number == 0:
            machine.remember_settings()
        self.marker = Trace(kind, number, 1, **{names.MARKED_BY: names.MARKED_BATCH})
        self.count[kind] += 1
        self.marker.__enter__()

    def end(self) -> None:
        marker, self.marker = self.marker, None
        if marker is not None:
            marker.__exit__(None, None, None)


_steps: Final = _Steps()


def _mark_steps(keras: ModuleType) -> None:
    """Mark batches of Keras's loops, and report those of other loops.

    Raises:
        AttributeError: It is another Keras.
    """
    for kind in _KINDS:
        _mark_callbacks(keras.callbacks.CallbackList, kind)
    # A loop of the program's own may call these several times a step: they mark none.
    for kind in _KINDS:
        _hear_calls(keras.Model, f"{kind}_on_batch", step_clock.FUNCTION)
    _hear_calls(keras.optimizers.Optimizer, "apply", step_clock.OPTIMIZER)


def _hear_calls(owner: Any, name: str, source: str) -> None:
    """Report each call of a method; raises ``AttributeError`` if there is none."""
    method, hear = getattr(owner, name), step_clock.hear

    @functools.wraps(method)
    def calls(self: Any, *args: Any, **kwargs: Any) -> Any:
        hear(source, (id(self), name))
        return method(self, *args, **kwargs)

    setattr(owner, name, calls)


def _mark_callbacks(callbacks: Any, kind: str) -> None:
    begin, end = f"on_{kind}_batch_begin", f"on_{kind}_batch_end"
    at_begin, at_end = getattr(callbacks, begin), getattr(callbacks, end)

    @functools.wraps(at_begin)
    def begins(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = at_begin(self, *args, **kwargs)
        _steps.begin(kind)
        return result

    @functools.wraps(at_end)
    def ends(self: Any, *args: Any, **kwargs: Any) -> Any:
        _steps.end()
        return at_end(self, *args, **kwargs)

    setattr(callbacks, begin, begins)
    setattr(callbacks, end, ends)


def _hear_functions(module: ModuleType) -> None:
    """Report each call of a ``tf.function``; raises ``AttributeError`` if it is another class."""
    _hear_calls(module.Function, "__call__", step_clock.FUNCTION)


def _hear_optimizers(module: ModuleType) -> None:
    """Report each step of PyTorch's optimizers; raises ``AttributeError`` before PyTorch 2.

    The report comes after the range of the step, where PyTorch's profiler may end and begin.
    """
    kind: Any = module.Optimizer
    hook_step, hear, source = kind.profile_hook_step, step_clock.hear, step_clock.OPTIMIZER

    @functools.wraps(hook_step)
    def hooked(step: Callable[..., Any]) -> Callable[..., Any]:
        marked = hook_step(step)

        @functools.wraps(marked)
        def stepped(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            result = marked(optimizer, *args, **kwargs)
            hear(source, id(optimizer))
            return result

        return stepped

    kind.profile_hook_step = staticmethod(hooked)


def _hear_backward(module: ModuleType) -> None:
    """Report each backward pass: loops that update their weights themselves have no optimizer."""
    backward, hear, source = module.backward, step_clock.hear, step_clock.BACKWARD

    @functools.wraps(backward)
    def passes(*args: Any, **kwargs: Any) -> Any:
        hear(source)
        return backward(*args, **kwargs)

    setattr(module, "backward", passes)  # noqa: B010  # a module has no such attribute to mypy


def _hear_batches(module: ModuleType) -> None:
    """Report each batch of PyTorch's data loaders; raises ``AttributeError`` if they are others."""
    _time_batches(module._BaseDataLoaderIter, is_step=True)


def _hear_results(module: ModuleType) -> None:
    """Report reads of JAX's arrays; raises ``AttributeError`` if it is another class.

    NumPy reads an array on a CPU without any call: such a read is not heard of.
    """
    kind, library = module.ArrayImpl, f"{Path(str(module.__file__)).parents[1]}{os.sep}"
    kind.block_until_ready = _reported(kind.block_until_ready, library)
    kind._value = property(_reported(kind._value.fget, library))


def _hear_eager_results(module: ModuleType) -> None:
    """Report reads of TensorFlow's eager tensors; raises ``AttributeError`` if it is another."""
    kind, library = module._EagerTensorBase, f"{Path(str(module.__file__)).parents[2]}{os.sep}"
    kind._numpy = _reported(kind._numpy, library)


def _reported(read: Callable[[Any], Any], library: str) -> Callable[[Any], Any]:
    """A read that reports that the program has its result."""
    hear = step_clock.hear_result

    # A method of C++ may have no qualified name, which functions must have.
    @functools.wraps(read, assigned=("__doc__",))
    def reads(array: Any) -> Any:
        result = read(array)
        hear(library)
        return result

    return reads


def _time_dataset_iterators(module: ModuleType) -> None:
    """Time waits for elements of tf.data; raises ``AttributeError`` if it is another class."""
    _time_batches(module.OwnedIterator, is_step=False)


def _time_batches(kind: Any, *, is_step: bool) -> None:
    """Time the waits for an iterator's batches, each of which may stand for a step."""
    fetch = kind.__next__

    @functools.wraps(fetch)
    def fetches(self: Any) -> Any:
        begin_ns = time.perf_counter_ns()
        batch = fetch(self)
        step_clock.waited_for_input(begin_ns)
        if is_step:
            step_clock.hear(step_clock.BATCH, id(self))
        return batch

    kind.__next__ = fetches


def _time_jax_backends(module: ModuleType) -> None:
    start_spans.around(module, "backends", "device", "JAX's devices", is_once=True)


def _time_jax_job(module: ModuleType) -> None:
    start_spans.around(module.State, "initialize", "processes", "jax.distributed.initialize")


def _time_tensorflow_tracing(module: ModuleType) -> None:
    def name(*args: Any, **kwargs: Any) -> str:
        options = kwargs.get("tracing_options") or args[-1]
        return str(options.name or options.python_function.__name__)

    start_spans.around(module, "_create_concrete_function", "tracing", name)


def _time_tensorflow_devices(module: ModuleType) -> None:
    label = "TensorFlow's devices"
    start_spans.around(module.Context, "ensure_initialized", "device", label, is_once=True)


def _time_dynamo(module: ModuleType) -> None:
    start_spans.around(module, "_compile", "tracing", lambda code, *_, **__: str(code.co_name))


def _time_inductor(module: ModuleType) -> None:
    def name(*_: Any, **__: Any) -> str:
        spans = start_spans.active()
        return (spans.enclosing if spans else "") or "a graph"

    compile_graph = module._compile_fx_inner

    @functools.wraps(compile_graph)
    def cached(*args: Any, **kwargs: Any) -> Any:
        counters = sys.modules["torch._dynamo.utils"].counters["inductor"]
        hits, misses = (counters[f"fxgraph_cache_{what}"] for what in ("hit", "miss"))
        try:
            return compile_graph(*args, **kwargs)
        finally:
            spans = start_spans.active()
            if spans is not None and counters["fxgraph_cache_hit"] > hits:
                spans.cache = "hit"
            elif spans is not None and counters["fxgraph_cache_miss"] > misses:
                spans.cache = "miss"

    setattr(module, "_compile_fx_inner", cached)  # noqa: B010  # as above
    start_spans.around(module, "_compile_fx_inner", "compilation", name)


def _time_torch_job(module: ModuleType) -> None:
    start_spans.around(module, "init_process_group", "processes", "init_process_group")


def _time_reads(name: str, function: str) -> Callable[[ModuleType], None]:
    label = start_spans.file_label(name)

    def hook(module: ModuleType) -> None:
        start_spans.around(module, function, "reading", label, reads=True)

    return hook


def _time_look_ups(module: ModuleType) -> None:
    def name(host: object, *_: Any, **__: Any) -> str:
        text = host.decode("utf-8", "replace") if isinstance(host, bytes) else str(host)
        return f"name look-up: {text}"

    start_spans.around(module, "getaddrinfo", "look-up", name)


#: What is done to which module.
AFTER: Final[dict[str, Callable[[ModuleType], None]]] = {
    "keras": _mark_steps,
    "tensorflow.python.eager.polymorphic_function.polymorphic_function": _hear_functions,
    "torch.autograd": _hear_backward,
    "torch.optim.optimizer": _hear_optimizers,
    "torch.utils.data.dataloader": _hear_batches,
    "jax._src.array": _hear_results,
    "tensorflow.python.framework.ops": _hear_eager_results,
    "tensorflow.python.profiler.profiler_v2": _yield_to_tensorflow,
    "jax._src.profiler": _yield_to_jax,
    "torch.profiler.profiler": _yield_to_torch,
    "tensorflow.python.data.ops.iterator_ops": _time_dataset_iterators,
    # Known work of a start.
    "jax._src.monitoring": jax_compilation.hear,
    "jax._src.xla_bridge": _time_jax_backends,
    "jax._src.distributed": _time_jax_job,
    "tensorflow.python.eager.polymorphic_function.tracing_compilation": _time_tensorflow_tracing,
    "tensorflow.python.eager.context": _time_tensorflow_devices,
    "torch._dynamo.convert_frame": _time_dynamo,
    "torch._inductor.compile_fx": _time_inductor,
    "torch.distributed.distributed_c10d": _time_torch_job,
    "torch.serialization": _time_reads("torch.load", "load"),
    "safetensors.torch": _time_reads("safetensors", "load_file"),
    "safetensors.numpy": _time_reads("safetensors", "load_file"),
    "safetensors.flax": _time_reads("safetensors", "load_file"),
    "socket": _time_look_ups,
}


class _Loader(importlib.abc.Loader):
    """The module's own loader, and then its hook, which leaves those that are left."""

    def __init__(
        self, own: importlib.abc.Loader, left: dict[str, Callable[[ModuleType], None]]
    ) -> None:
        self._own = own
        self._left = left

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # From here on it is as if we had not been here.
        module.__loader__ = self._own
        if module.__spec__ is not None:
            module.__spec__.loader = self._own
        self._own.exec_module(module)
        hook = self._left.pop(module.__name__, None)
        try:
            if hook is not None:
                hook(module)
        except Exception as error:
            print(
                f"stepscope: {module.__name__} could not be prepared for recording: {error}",
                file=sys.stderr,
            )


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what others find, and has the hook run once the module is loaded.

    TensorFlow asks whether there is a Keras long before it imports it.
    """

    def __init__(self) -> None:
        self._left = dict(AFTER)
        self._asks = threading.local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        asked = getattr(self._asks, "name", "")
        if fullname not in self._left or asked == fullname:
            return None
        self._asks.name = fullname
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._asks.name = asked
        if spec is None or spec.loader is None:
            return None
        spec.loader = _Loader(spec.loader, self._left)
        return spec


# How often the end of a start is looked for.
_START_LOOK_S: Final = 0.2
_is_installed = False


def install() -> None:
    """Watch imports from now on, once; modules that are there already are seen to at once."""
    global _is_installed
    if _is_installed:
        return
    _is_installed = True
    for name, hook in AFTER.items():
        if name in sys.modules:
            hook(sys.modules[name])
    sys.meta_path.insert(0, _Finder())


def init(
    log: str | os.PathLike[str] | None = None,
    flight_recorder: str | os.PathLike[str] | None = None,
    start: str | os.PathLike[str] | None = None,
) -> None:
    """Prepare this process: log every step, keep the last seconds, account for the start.

    Call it before the frameworks are imported or right after. Steps come from ``stepscope.step``,
    Keras, optimizers, compiled functions or data loaders: the surest source counts. Values of
    ``stepscope.note`` are logged with them.

    Args:
        log: File to append the step log to; None logs nothing.
        flight_recorder: Folder or URL for recordings of the last half minute, which are written
            for slow steps, uncaught exceptions, SIGUSR2 and ``stepscope dump``; None keeps nothing.
        start: Folder or URL for a recording of the start, which is written once steps are steady;
            None records none. ``stepscope record`` has it already.

    Raises:
        CaptureError: The file cannot be written, this process is being recorded, or it has a step
            log or a flight recorder already.
    """
    if log is not None:
        step_log.begin(log)
    if flight_recorder is not None:
        from stepscope.capture import flight_recorder as last_seconds

        last_seconds.begin(flight_recorder)
    if start is not None and start_spans.active() is None:
        _record_start(start)
    install()


def _record_start(logdir: str | os.PathLike[str]) -> None:
    """Record the start of this process until steps are steady."""
    origin_ns = start_spans.install(stepscope._imported_ns).exec_ns
    options = ProfilerOptions(sample_hz=0, telemetry_hz=0, memory=False)
    source = StartUp()
    try:
        recording = control.start(
            logdir,
            options,
            owner="launcher",
            origin_ns=origin_ns,
            # Steps that the program marks are annotations.
            sources=[AnnotationRecorder(), source],
        )
    except BaseException:
        start_spans.stop()
        raise

    def end_when_steady() -> None:
        while not (source.is_over or recording.finished):
            time.sleep(_START_LOOK_S)
        control.end(recording)

    beside(THREAD_PREFIX + "start-end", end_when_steady)
