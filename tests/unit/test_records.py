"""Our ``dataclass`` makes what the standard one makes."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from stepscope import records


class Plain:
    """A class before its decorator."""

    name: str
    sizes: list[int] = dataclasses.field(default_factory=list)
    scale: float = 1.0
    hidden: int = dataclasses.field(default=0, repr=False, compare=False)
    later: str = dataclasses.field(default_factory=str, init=False)
    KIND: ClassVar[str] = "plain"
    _: dataclasses.KW_ONLY
    unit: str = "ms"


class WithMethods:
    """A class with methods of its own, which stay."""

    value: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", self.value + 1)

    def __eq__(self, other: object) -> bool:
        return True

    def __repr__(self) -> str:
        return "own"


class Nothing:
    pass


CHOICES = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "kw_only": True},
    {"frozen": True, "slots": True, "kw_only": True},
]


def made(decorator: Callable[..., Any], plain: type, choice: dict[str, bool]) -> Any:
    body = {k: v for k, v in vars(plain).items() if k not in ("__dict__", "__weakref__")}
    return decorator(**choice)(type(plain.__name__, plain.__bases__, body))


def outcome(call: Callable[[], object]) -> object:
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_records_behave_as_the_standard_ones(choice: dict[str, bool]) -> None:
    def behaviour(decorator: Callable[..., Any]) -> list[object]:
        cls = made(decorator, Plain, choice)
        one, same, other = cls(name="a", hidden=1), cls(name="a"), cls(name="b", sizes=[1], unit="")
        tuples = cls(name="a", sizes=(1,))
        subclass = type("Subclass", (cls,), {})
        return [
            *map(repr, [one, other]),
            [one == same, one == other, one == 1, one != same],
            outcome(lambda: hash(tuples) == hash(cls(name="a", sizes=(1,), hidden=2))),
            outcome(lambda: hash(one) and None),
            outcome(lambda: cls()),
            outcome(lambda: cls("a", [2], 3.0).sizes),
            outcome(lambda: cls(name="a", none=1)),
            outcome(lambda: setattr(cls(name="a"), "name", "b")),
            outcome(lambda: delattr(cls(name="a"), "name")),
            outcome(lambda: one.__dict__),
            outcome(lambda: repr(dataclasses.replace(one, name="c"))),
            outcome(lambda: repr(dataclasses.replace(one, later="c"))),
            outcome(lambda: repr(subclass(name="d")) + str(subclass(name="d") == cls(name="d"))),
            [dataclasses.asdict(one), [f.name for f in dataclasses.fields(cls)], cls.KIND],
            [cls.__match_args__, cls.__init__.__qualname__, cls.__name__, cls.__doc__],
            cls(name="a").sizes is not cls(name="a").sizes,
        ]

    assert behaviour(records.dataclass) == behaviour(dataclasses.dataclass)


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("plain", [WithMethods, Nothing])
def test_methods_of_the_class_stay(plain: type, choice: dict[str, bool]) -> None:
    def behaviour(decorator: Callable[..., Any]) -> list[object]:
        cls = made(decorator, plain, choice)
        words = {"value": 1} if plain is WithMethods else {}
        return [
            repr(cls(**words)),
            outcome(lambda: cls(**words).value),
            cls(**words) == cls(**words),
            outcome(lambda: hash(cls(**words)) and None),
        ]

    assert behaviour(records.dataclass) == behaviour(dataclasses.dataclass)


@records.dataclass(frozen=True)
class Base:
    first: int


@records.dataclass(frozen=True)
class Derived(Base):
    second: int = 2


@dataclasses.dataclass(frozen=True)
class StandardDerived(Base):
    second: int = 2


@records.dataclass(frozen=True, slots=True)
class Slotted:
    first: int
    second: tuple[Slotted, ...] = ()


@pytest.mark.parametrize("cls", [Derived, StandardDerived])
def test_a_frozen_record_has_frozen_descendants(cls: type[Any]) -> None:
    one = cls(1)
    assert (one.first, one.second) == (1, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.second = 3


def test_a_slotted_record_survives_pickling() -> None:
    one = Slotted(1, (Slotted(2),))
    assert pickle.loads(pickle.dumps(one)) == one
    assert not hasattr(one, "__dict__")
