"""Classes whose methods are generated when needed behave as the standard library's."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import KW_ONLY, FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from stepscope.records import dataclass

BODIES: dict[str, dict[str, Any]] = {
    "plain": {"__annotations__": {"a": "int", "b": "str"}, "b": "x"},
    "factory": {
        "__annotations__": {"a": "int", "b": "list[int]"},
        "b": field(default_factory=list),
    },
    "constant": {
        "__annotations__": {"kind": "ClassVar[str]", "a": "int"},
        "kind": "constant",
    },
    "keywords": {"__annotations__": {"a": "int", "_": "dataclasses.KW_ONLY", "b": "int"}, "b": 1},
    "hidden": {"__annotations__": {"a": "int", "b": "int"}, "b": field(default=1, repr=False)},
    "uncompared": {
        "__annotations__": {"a": "int", "b": "int"},
        "b": field(default=1, compare=False),
    },
    "counted": {"__annotations__": {"a": "int", "b": "int"}, "b": field(default=7, init=False)},
    "empty": {},
}
OPTIONS = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "kw_only": True},
]


def made(decorator: Any, name: str, options: dict[str, bool]) -> Any:
    """A class of one of the bodies; a field object serves only one class."""
    body = {
        key: copy.copy(value) if isinstance(value, dataclasses.Field) else value
        for key, value in BODIES[name].items()
    }
    return decorator(**options)(type("Made", (), {"__module__": __name__, **body}))


def behaviour(cls: Any) -> dict[str, Any]:
    """What a class shows of itself, and what its instances do."""
    given = {} if not dataclasses.fields(cls) else {"a": 1}
    first, second = cls(**given), cls(**given)
    return {
        "parameters": [(one.name, one.kind) for one in inspect.signature(cls).parameters.values()],
        "fields": [(f.name, f.type, f.init, f.kw_only) for f in dataclasses.fields(cls)],
        "slots": getattr(cls, "__slots__", None),
        "match": cls.__match_args__,
        "values": dataclasses.asdict(first),
        "text": repr(first).replace(hex(id(first)), ""),
        "equal": first == second,
        "unlike": first == "text",
        "hash": cls.__hash__ and (hash(first) == hash(second) if given.get("b", 1) else None),
    }


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", [name for name in BODIES if name != "factory"])
def test_same_behaviour_as_the_standard_decorator(name: str, options: dict[str, bool]) -> None:
    assert behaviour(made(dataclass, name, options)) == behaviour(
        made(dataclasses.dataclass, name, options)
    )


@dataclass(frozen=True, slots=True)
class Point:
    """A point."""

    x: float
    names: list[str] = field(default_factory=list)
    kind: ClassVar[str] = "point"

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", self.x + 1)


@dataclass(frozen=True, kw_only=True)
class Base:
    """A base."""

    a: int = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Added(Base):
    """A class of somebody who uses the standard decorator."""

    b: int = 2


@dataclass
class Ordered:
    """A class with its own methods."""

    a: int
    _: KW_ONLY
    b: int = 0

    def __repr__(self) -> str:
        return "own"


def test_nothing_is_compiled_before_the_first_instance() -> None:
    cls = made(dataclass, "plain", {"frozen": True, "slots": True})
    assert "co_varnames" not in dir(cls.__init__) and cls.__init__.__code__.co_varnames[1] == "args"
    cls(1)
    assert cls.__init__.__code__.co_varnames == ("self", "a", "b")


def test_frozen_instances_refuse_assignment() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.x
    assert point.x == 2 and point.kind == "point"


def test_each_instance_has_its_own_default() -> None:
    assert Point(1).names is not Point(1).names


def test_instances_are_copied_pickled_and_replaced() -> None:
    point = Point(1, ["a"])
    assert pickle.loads(pickle.dumps(point)) == copy.deepcopy(point) == point
    assert dataclasses.replace(point, x=4) == Point(4, ["a"])


def test_standard_subclasses_inherit_the_fields() -> None:
    assert [one.name for one in dataclasses.fields(Added)] == ["a", "b"]
    assert Added(b=3) == Added(a=1, b=3) != Added(b=4)
    assert dataclasses.is_dataclass(Base) and Base() != Added()


def test_own_methods_stay() -> None:
    assert repr(Ordered(1, b=2)) == "own"
    with pytest.raises(TypeError, match=r"Ordered\.__init__"):
        Ordered(1, 2)  # type: ignore[call-arg]


def test_nan_equals_itself_in_one_instance() -> None:
    nan = float("nan")
    assert Base(a=nan) == Base(a=nan)  # type: ignore[arg-type]
