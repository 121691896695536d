"""``dataclass``: the standard library's, with methods that cost nothing until they are needed.

The standard decorator compiles six methods of every class when its module is imported. A command
imports 400 such classes and makes instances of half of them: compiling was a third of the
processor time of a small answer. Here all classes share ``__repr__``, ``__eq__`` and ``__hash__``;
the fields are read and ``__init__`` is compiled when the first instance is made, or when somebody
asks for the fields.

Annotations must be texts (``from __future__ import annotations``). Of the standard decorator's
options there are those that this project uses; there is no ``InitVar``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

__all__ = ["dataclass"]

_NO_FIELD: Final = ("ClassVar", "KW_ONLY")
#: What the standard decorator adds beside methods. ``inspect`` asks for the signature.
_ATTRIBUTES: Final = (
    "__dataclass_fields__",
    "__dataclass_params__",
    "__match_args__",
    "__replace__",
    "__signature__",
)
_COMPLETES: Final = RLock()
Complete = Callable[[], Any]


class _Attribute:
    """An attribute of a class that completes the class when it is read."""

    def __init__(self, name: str, complete: Complete) -> None:
        self._name = name
        self._complete = complete

    def __get__(self, instance: object, owner: type) -> Any:
        self._complete()
        return getattr(owner if instance is None else instance, self._name)


class _Compared:
    """Compared values of an instance as a tuple, by a getter that its class keeps."""

    def __get__(self, instance: object, owner: type) -> Callable[[object], Any]:
        names = [field.name for field in dataclasses.fields(owner) if field.compare]
        if len(names) == 1:
            names *= 2  # a getter of one name returns no tuple, and NaN equals itself only in one
        getter: Callable[[object], Any] = attrgetter(*names) if names else lambda _: ()
        owner._compared = getter  # type: ignore[attr-defined]
        return getter


def _equal(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    values = type(self)._compared
    return values(self) == values(other)


def _hash(self: Any) -> int:
    return hash(type(self)._compared(self))


@recursive_repr()
def _repr(self: Any) -> str:
    values = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(values)})"


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


def _refuse_assignment(cls: Any) -> None:
    def is_field(instance: object, name: str) -> bool:
        return type(instance) is cls or name in cls.__dataclass_fields__

    def assign(self: object, name: str, value: object) -> None:
        if is_field(self, name):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete(self: object, name: str) -> None:
        if is_field(self, name):
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = assign, delete


def _with_slots(cls: type, body: dict[str, Any], names: list[str]) -> type:
    inherited = {slot for base in cls.__mro__ for slot in base.__dict__.get("__slots__", ())}
    without_defaults = {name: value for name, value in body.items() if name not in names}
    slots = tuple(name for name in names if name not in inherited)
    made: type = type(cls)(cls.__name__, cls.__bases__, {**without_defaults, "__slots__": slots})
    return made


def _set_defaults(cls: type, body: dict[str, Any], names: list[str]) -> None:
    for name in names:
        if isinstance(declared := body.get(name), dataclasses.Field):
            if declared.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, declared.default)


def _initializer(cls: Any, *, frozen: bool, slots: bool) -> Callable[..., None]:
    """Compile ``__init__`` of a class whose fields are known."""
    scope: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": MISSING}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    lines = []
    for field in dataclasses.fields(cls):
        name = field.name
        value, default = name, ""
        if field.default_factory is not MISSING:
            scope[f"_make_{name}"] = field.default_factory
            default = "=_MISSING"
            value = f"_make_{name}() if {name} is _MISSING else {name}"
        elif field.default is not MISSING:
            scope[f"_default_{name}"] = field.default
            default = f"=_default_{name}"
        if field.init:
            parameters[bool(field.kw_only)].append(f"{name}{default}")
        elif field.default_factory is not MISSING:
            value = f"_make_{name}()"
        elif field.default is not MISSING and slots:
            value = f"_default_{name}"
        else:
            continue
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    named = ["*", *parameters[True]] if parameters[True] else []
    head = f"def __init__({', '.join(['self', *parameters[False], *named])}):"
    exec("\n ".join([head, *(lines or ["pass"])]), scope)
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    made.__annotations__ = {f.name: f.type for f in dataclasses.fields(cls) if f.init}
    return made


def _deferred(
    cls: Any = None,
    /,
    *,
    eq: bool = True,
    frozen: bool = False,
    kw_only: bool = False,
    slots: bool = False,
) -> Any:
    if cls is None:
        return lambda decorated: _deferred(
            decorated, eq=eq, frozen=frozen, kw_only=kw_only, slots=slots
        )
    body = {name: v for name, v in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    body["__qualname__"] = cls.__qualname__
    annotations: dict[str, str] = body.get("__annotations__", {})
    names = [
        name
        for name, text in annotations.items()
        if not text.removeprefix("typing.").removeprefix("dataclasses.").startswith(_NO_FIELD)
    ]
    if slots:
        made: Any = _with_slots(cls, body, names)
    else:
        made = cls
        _set_defaults(cls, body, names)
    is_complete = False

    def complete() -> None:
        nonlocal is_complete
        with _COMPLETES:
            if is_complete:
                return
            inherits = any(map(dataclasses.is_dataclass, made.__mro__[1:]))
            # A frozen base wants frozen subclasses; for all others nothing is to be compiled.
            standard = dataclasses.dataclass(
                init=False, repr=False, eq=False, frozen=frozen and inherits, kw_only=kw_only
            )
            # Without a docstring the standard decorator writes one, for which it imports inspect.
            contents = {**body, "__doc__": made.__doc__ or made.__name__}
            model = standard(type(made)(made.__name__, made.__bases__, contents))
            model.__dataclass_params__.frozen = frozen
            for name in _ATTRIBUTES:
                if name in vars(model):
                    setattr(made, name, vars(model)[name])
                elif isinstance(vars(made).get(name), _Attribute):
                    delattr(made, name)
            if "__init__" not in body:
                made.__init__ = _initializer(made, frozen=frozen, slots=slots)
            is_complete = True

    def begin(self: Any, *args: Any, **named: Any) -> None:
        complete()
        made.__init__(self, *args, **named)

    added: dict[str, Any] = {name: _Attribute(name, complete) for name in _ATTRIBUTES}
    added |= {"__init__": begin, "__repr__": _repr}
    if eq:
        added |= {"__eq__": _equal, "_compared": _Compared()}
        has_hash = body.get("__hash__") is not None
        if not has_hash:
            made.__hash__ = _hash if frozen else None
    if frozen and slots:
        added |= {"__getstate__": _state, "__setstate__": _set_state}
    for name, value in added.items():
        if name not in body:
            setattr(made, name, value)
    if frozen:
        _refuse_assignment(made)
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _deferred
