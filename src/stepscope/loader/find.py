"""The object that ``train.py:make_dataset`` or ``package.module:loader`` names."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from stepscope.errors import UsageError


def find(name: str) -> Any:
    """What a name of the form ``module:attribute`` or ``file.py:attribute`` stands for.

    The module is imported as any import would, so what it does at its top level happens.

    Raises:
        UsageError: There is no such module, or nothing of this name in it.
    """
    place, mark, attribute = name.rpartition(":")
    if not mark or not place or not attribute:
        raise UsageError(
            f"{name!r} does not name an object.",
            why="It has the form file.py:name or package.module:name.",
            hint="For instance: stepscope loader train.py:make_dataset",
        )
    found: Any = _file(Path(place)) if place.endswith(".py") else _module(place)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise UsageError(
                f"There is no {attribute!r} in {place}.",
                where=name,
                hint="Name a dataset, a loader, or a function without arguments that makes one.",
            )
        found = getattr(found, part)
    return found


def opener(found: Any, name: str) -> Callable[[], Iterable[Any]]:
    """What gives the pipeline from its beginning, each time it is called.

    Args:
        found: A dataset, a loader, any iterable, or a function without arguments that makes one.
        name: What the user called it.

    Raises:
        UsageError: It is none of these.
    """
    if is_iterable(found):
        return lambda: found
    if not callable(found):
        raise UsageError(
            f"{name} cannot be iterated over.",
            why=f"It is a {type(found).__name__}.",
            hint="Name a dataset, a loader, or a function without arguments that makes one.",
        )

    def opened() -> Iterable[Any]:
        made: Any = found()
        if not is_iterable(made):
            raise UsageError(
                f"{name}() cannot be iterated over.",
                why=f"It returns a {type(made).__name__}.",
                hint="Return a tf.data.Dataset, a DataLoader or any other iterable.",
            )
        return made  # type: ignore[no-any-return]  # as above

    return opened


def is_iterable(found: object) -> bool:
    """Whether it can be iterated over; a class cannot, only what it makes."""
    if isinstance(found, type):
        return False
    return hasattr(found, "__iter__") or hasattr(found, "__getitem__")


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError("There is no such file.", where=str(path), hint="Check the path.")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as Python does for a script
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path.resolve()):
        return known
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    if spec is None or spec.loader is None:
        raise UsageError("This file cannot be imported.", where=str(path), hint="Check the path.")
    module = importlib.util.module_from_spec(spec)
    # Workers that are spawned import it by this name.
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _module(name: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")  # as python -m does
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise  # something that the module itself imports
        raise UsageError(
            "There is no such module.",
            where=name,
            hint="Name a file (train.py:make_dataset) or a module that can be imported here.",
        ) from error
