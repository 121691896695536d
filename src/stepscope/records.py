"""``dataclass`` as in the standard library, at a tenth of its cost per class.

The standard decorator compiles up to six functions for every class, whether or not they are called.
A command imports more than 300 such classes; compiling was a sixth of what `advise` cost. Here a
class compiles its ``__init__`` for its first instance, and nothing else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import field as field
from dataclasses import replace as replace
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        eq: bool = True,
        slots: bool = False,
        kw_only: bool = False,
    ) -> Any:
        """Add the methods that `dataclasses.dataclass` adds, with the same meaning."""

        def add_methods(cls: type) -> type:
            return _with_methods(cls, frozen=frozen, eq=eq, slots=slots, kw_only=kw_only)

        return add_methods if cls is None else add_methods(cls)


def _with_methods(cls: type, *, frozen: bool, eq: bool, slots: bool, kw_only: bool) -> type:
    own = dict(vars(cls))
    cls.__doc__ = cls.__doc__ or cls.__name__  # without one, the standard inspects the signature
    # It refuses to derive from a frozen class unless it makes the methods that freeze itself.
    above = [getattr(base, "__dataclass_params__", None) for base in cls.__mro__[1:]]
    has_frozen_base = frozen and any(params is not None and params.frozen for params in above)
    made: Any = dataclasses.dataclass(
        init=False, repr=False, eq=False, frozen=has_frozen_base, slots=slots, kw_only=kw_only
    )(cls)
    made.__dataclass_params__.frozen = frozen
    methods: dict[str, Any] = {"__init__": _first_init(made, frozen), "__repr__": _repr}
    if eq:
        equals, hashed = _comparison(made)
        methods |= {"__eq__": equals}
        if own.get("__hash__") is None:  # a class that only defines __eq__ has None
            own.pop("__hash__", None)
            methods |= {"__hash__": hashed if frozen else None}
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if frozen and slots:
        methods |= {"__getstate__": _state, "__setstate__": _set_state}
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


def _first_init(cls: Any, frozen: bool) -> Callable[..., None]:
    """Return an ``__init__`` that the first instance replaces by a compiled one."""

    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
        init = _compiled_init(cls, frozen)
        if cls.__dict__["__init__"] is __init__:
            cls.__init__ = init
        init(self, *args, **kwargs)

    return __init__


def _compiled_init(cls: Any, frozen: bool) -> Callable[..., None]:
    values: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": dataclasses.MISSING}
    positional, body = ["self"], []
    keywords: list[str] = []
    for one in dataclasses.fields(cls):
        name = value = parameter = one.name
        if one.default_factory is not dataclasses.MISSING:
            values[f"_make_{name}"] = one.default_factory
            parameter = f"{name}=_MISSING"
            value = f"_make_{name}()"
            value = f"{value} if {name} is _MISSING else {name}" if one.init else value
        elif not one.init:
            continue  # the class sets it
        elif one.default is not dataclasses.MISSING:
            values[f"_default_{name}"] = one.default
            parameter = f"{name}=_default_{name}"
        if one.init:
            (keywords if one.kw_only else positional).append(parameter)
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*positional, *(["*", *keywords] if keywords else [])])
    exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), values)
    init: Callable[..., None] = values["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _comparison(cls: Any) -> tuple[Callable[..., Any], Callable[..., int]]:
    """Return ``__eq__`` and ``__hash__``, over the tuple of the fields that are compared."""
    names = [one.name for one in dataclasses.fields(cls) if one.compare]
    values = attrgetter(*names) if len(names) > 1 else _tuple_getter(names)

    def __eq__(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __eq__, __hash__


def _tuple_getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda record: tuple(getattr(record, name) for name in names)


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
