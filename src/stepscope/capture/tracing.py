"""Names for what a program does: ``Trace``, ``step`` and ``annotate``.

When nothing records, ``Trace(…)`` returns one shared object whose entry and exit are built-in
functions: no Python runs, and nothing is allocated but the call's arguments. During a recording an
annotation goes to the framework that records, and so onto the framework's own track, above the ops
it contains; without a framework it is kept here.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import AbstractContextManager
from numbers import Number
from typing import Any, Final, TypeVar, cast, overload

from stepscope.capture.file.label_escaping import escaped

_F = TypeVar("_F", bound=Callable[..., Any])

Value = int | float | str | bool
# Name, start and length in ns, values.
_Row = tuple[str, int, int, Mapping[str, Any]]
#: Begins an annotation of this name with these values and returns what ends it.
Emitter = Callable[[str, Mapping[str, Any]], Callable[[], object]]


class _Off:
    """The annotation while nothing records."""

    __slots__ = ()
    # Built-in functions take no self and cost no frame; both return "", which is false, so an
    # exception goes on. A pair of Python methods would cost as much again as all the rest.
    __enter__ = "".format
    __exit__ = "".format


class _On:
    """An annotation while a recording runs; one use each."""

    __slots__ = ("_end", "_metadata", "_name")

    def __init__(self, name: str, metadata: Mapping[str, Any]) -> None:
        self._name = name
        self._metadata = metadata
        self._end: Callable[[], object] | None = None

    def __enter__(self) -> _On:
        emit = _emit
        if emit is not None:
            try:
                self._end = emit(self._name, self._metadata)
            except Exception:  # a value that cannot be recorded must not stop a program
                self._end = None
        return self

    def __exit__(self, *exc: object) -> None:
        end, self._end = self._end, None
        if end is not None:
            try:
                end()
            except Exception:  # as at its begin
                return


_OFF: Final = cast("AbstractContextManager[object]", _Off())
_emit: Emitter | None = None
_base: Emitter | None = None
_numbers: Final = itertools.count()


def Trace(
    name: str, step_num: int | None = None, _r: int | None = None, **metadata: Value
) -> AbstractContextManager[object]:
    """Name the body of a ``with``, as ``tf.profiler.experimental.Trace`` does.

    Args:
        name: What a viewer shows.
        step_num: Number of a step; with ``_r=1`` it marks one.
        _r: Marks a step. (These two have names of their own because a dictionary of them would
            cost half as much again as the call.)
        metadata: Values to keep with it.
    """
    if _emit is None:
        return _OFF
    if step_num is not None:
        metadata["step_num"] = step_num
    if _r is not None:
        metadata["_r"] = _r
    return _On(name, metadata)


def step(step_num: int | None = None, name: str = "train") -> AbstractContextManager[object]:
    """Mark one step of training or inference.

    Args:
        step_num: Its number; counted from 0 if not given.
        name: "train", "test", "predict" or any other name.
    """
    number = next(_numbers) if step_num is None else step_num
    if _emit is None:
        return _OFF
    return _On(name, {"step_num": number, "_r": 1})


class _Annotation:
    """The result of ``annotate`` with a name: a decorator, and a context manager."""

    __slots__ = ("_entered", "_metadata", "_name")

    def __init__(self, name: str | None, metadata: Mapping[str, Value]) -> None:
        self._name = name
        self._metadata = metadata
        self._entered: dict[int, list[AbstractContextManager[object]]] = {}  # by thread

    def __call__(self, function: _F) -> _F:
        return cast(_F, _wrapped(function, self._name or function.__qualname__, self._metadata))

    def __enter__(self) -> None:
        if self._name is None:
            raise TypeError("stepscope.annotate() needs a name when it is used in a with")
        one = _OFF if _emit is None else _On(self._name, self._metadata)
        self._entered.setdefault(threading.get_ident(), []).append(one)
        one.__enter__()

    def __exit__(self, *exc: object) -> None:
        mine = self._entered.get(threading.get_ident(), [])
        # Executors may end on another thread than the one they began on.
        for entered in (mine, *list(self._entered.values())):
            try:
                one = entered.pop()
            except IndexError:
                continue
            one.__exit__(None, None, None)
            return


@overload
def annotate(name: _F) -> _F: ...
@overload
def annotate(name: str | None = None, **metadata: Value) -> _Annotation: ...
def annotate(name: str | Callable[..., Any] | None = None, **metadata: Value) -> Any:
    """Name every call of a function, coroutine or generator, or the body of a ``with``.

    As a decorator it is usable with and without arguments; in a ``with`` it is ``Trace``.

    Args:
        name: What a viewer shows; the function's qualified name by default.
        metadata: Values to keep with each call.

    Raises:
        TypeError: It has no name and is used in a ``with``.
    """
    if callable(name):
        return _wrapped(name, name.__qualname__, {})
    return _Annotation(name, metadata)


def is_recording() -> bool:
    """Whether annotations are being recorded."""
    return _emit is not None


def emitter() -> Emitter | None:
    """Where annotations go now; None while they are off."""
    return _emit


def switch(emit: Emitter | None) -> None:
    """Send annotations to ``emit``; None sends them to the base, or switches them off."""
    global _emit
    _emit = _base if emit is None else emit


def set_base(emit: Emitter | None) -> None:
    """Send annotations to ``emit`` while nothing records."""
    global _base
    before, _base = _base, emit
    if _emit is before:
        switch(None)


def _wrapped(function: Callable[..., Any], name: str, metadata: Mapping[str, Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        # It may be suspended while others run on the thread: it overlaps without containing them.
        spanning = {**metadata, "_a": 1}

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with _OFF if _emit is None else _On(name, spanning):
                return await function(*args, **kwargs)

        return coroutine
    if inspect.isgeneratorfunction(function):
        return _generator(function, name, metadata)
    if inspect.isasyncgenfunction(function):
        return _async_generator(function, name, {**metadata, "_a": 1})

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _emit is None:
            return function(*args, **kwargs)
        with _On(name, metadata):
            return function(*args, **kwargs)

    return call


def _generator(function: Callable[..., Any], name: str, metadata: Mapping[str, Any]) -> Any:
    """Each turn of a generator is one annotation: between turns the caller runs."""

    @functools.wraps(function)
    def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        turns = function(*args, **kwargs)
        resume: Callable[[], Any] = functools.partial(next, turns)
        while True:
            try:
                with _OFF if _emit is None else _On(name, metadata):
                    value = resume()
            except StopIteration as end:
                return end.value
            try:
                sent = yield value
            except GeneratorExit:
                turns.close()
                raise
            except BaseException as error:
                resume = functools.partial(turns.throw, error)
            else:
                resume = functools.partial(turns.send, sent)

    return generate


def _async_generator(function: Callable[..., Any], name: str, metadata: Mapping[str, Any]) -> Any:
    """As ``_generator``; a turn may be suspended while others run on the thread."""

    @functools.wraps(function)
    async def generate(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        turns = function(*args, **kwargs)
        resume: Callable[[], Any] = functools.partial(anext, turns)
        while True:
            try:
                with _OFF if _emit is None else _On(name, metadata):
                    value = await resume()
            except StopAsyncIteration:
                return
            try:
                sent = yield value
            except GeneratorExit:
                await turns.aclose()
                raise
            except BaseException as error:
                resume = functools.partial(turns.athrow, error)
            else:
                resume = functools.partial(turns.asend, sent)

    return generate


def trace_me(kind: Any) -> Emitter:
    """An emitter over a framework's ``TraceMe`` class (TensorFlow's and JAX's work alike).

    Args:
        kind: Called with name and values, begins; ``Stop()`` or ``__exit__`` ends.
    """

    def emit(name: str, metadata: Mapping[str, Any]) -> Callable[[], object]:
        values = {
            key: escaped(value) if isinstance(value, str) else value
            for key, value in metadata.items()
        }
        return cast("Callable[[], object]", kind(escaped(name), **values).Stop)

    return emit


class KeptAnnotations:
    """Annotations of a process without a framework: what was emitted, by thread.

    There is no lock: a signal handler of the program's may annotate in the middle of an end, and
    a forked child would find a lock held by a thread that it does not have.
    """

    def __init__(self) -> None:
        self._ended: deque[tuple[int, _Row]] = deque()
        self.names: dict[int, str] = {}

    def emit(self, name: str, metadata: Mapping[str, Any]) -> Callable[[], object]:
        """Begin an annotation on the calling thread."""
        told = {key: _told(value) for key, value in metadata.items()}
        begin_ns = time.time_ns()

        def end() -> None:
            self._append(name, begin_ns, time.time_ns(), told)

        return end

    def step(self, name: str, number: int, start_ns: int, end_ns: int) -> None:
        """A step of the calling thread has ended."""
        self._append(name, start_ns, end_ns, {"step_num": number, "_r": 1})

    def _append(self, name: str, begin_ns: int, end_ns: int, told: Mapping[str, object]) -> None:
        thread = threading.get_native_id()
        if thread not in self.names:
            self.names[thread] = threading.current_thread().name
        self._ended.append((thread, (name, begin_ns, end_ns - begin_ns, told)))

    def take(self) -> dict[int, list[_Row]]:
        """(name, start ns, duration ns, values) by thread since the last time."""
        taken: dict[int, list[_Row]] = {}
        for _ in range(len(self._ended)):
            thread, row = self._ended.popleft()
            taken.setdefault(thread, []).append(row)
        return taken


def _told(value: object) -> object:
    """The value as it is now: a number, or its text, so that a tensor can be freed."""
    if isinstance(value, (str, int, float, Number)):
        return value
    try:
        return str(value)
    except Exception:  # the annotation is kept, and says what it can
        return f"<{type(value).__name__}>"
