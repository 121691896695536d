"""The facts of a step are numbers and names: no sentence, no limit of their own, no parsed text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from stepscope.advice.catalogue import causes
from tests.architecture.tree import ROOT

TABLES: Final = ROOT / "src/stepscope/tables"
ROOMS: Final = ("account", "parts", "traits", "python", "torch")
ADVICE: Final = ROOT / "src/stepscope/advice"
VERDICTS: Final = ROOT / "src/stepscope/verdicts"
# A sentence has some of these words; lists of ops and patterns hardly have.
_GLUED: Final = """
    a an and are as at be by for from have in into is it its no not of on or that the to was which
    with
"""
_GLUE: Final = frozenset(_GLUED.split())
_WORDS: Final = 4
_RATIO: Final = 8  # one in as many words of a sentence, at least
_WORD: Final = re.compile(r"[A-Za-z][a-z]*(?:'s)?[.,:;]?")
# Formulas of PyTorch's ops, and sizes of types: numbers that nobody chose.
_FORMULAS: Final = ("torch/costs.py", "torch/signature.py", "torch/graph_replays.py")
# The last ones are factors of units, and digits that a number is printed with.
_FREE: Final = (-1, 0, 1, 2, 100, 1e3, 1e6)
# Shapes of operands, which the tool model_flops publishes as text; these may only become fewer.
_SHAPES: Final = {"device.py": 2}
# What text of ours is made of: the arrow of gaps and the path of surroundings.
_OURS: Final = re.compile("[→›…×]")
_PARSES: Final = (
    "split", "rsplit", "partition", "rpartition", "startswith", "endswith", "removeprefix",
    "removesuffix", "compile", "match", "search", "fullmatch", "findall",
)  # fmt: skip


def modules() -> Iterator[tuple[str, ast.Module]]:
    for room in ROOMS:
        for path in sorted((TABLES / room).rglob("*.py")):
            yield path.relative_to(TABLES).as_posix(), ast.parse(path.read_text("utf-8"))


def sentences(tree: ast.Module) -> list[str]:
    """Return the strings of four or more English words that are no docstrings."""
    documents = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    return [
        one.value
        for one in ast.walk(tree)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
        if id(one) not in documents and is_sentence(one.value)
    ]


def is_sentence(text: str) -> bool:
    words = [word.lower() for word in text.split() if _WORD.fullmatch(word)]
    glue = sum(word in _GLUE for word in words)
    return len(words) >= _WORDS and glue * _RATIO >= len(words)


def limits(tree: ast.Module) -> list[str]:
    """Return the numbers of comparisons, defaults and constants that are no plain ones."""
    found: list[ast.expr] = []
    for one in ast.walk(tree):
        if isinstance(one, ast.Compare) and ast.unparse(one.left) != "sys.version_info":
            found += [one.left, *one.comparators]
        elif isinstance(one, ast.arguments):
            found += [*one.defaults, *(each for each in one.kw_defaults if each is not None)]
    for one in tree.body:
        if isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None:
            found += [] if is_enumeration(one.value) else [one.value]
    return [
        ast.unparse(number)
        for one in found
        for number in ast.walk(one)
        if isinstance(number, ast.Constant) and type(number.value) in (int, float)
        if number.value not in _FREE
    ]


def is_enumeration(value: ast.expr) -> bool:
    """Return whether a value numbers kinds: ``range(5)``, or a rank of each name."""
    is_range = isinstance(value, ast.Call) and ast.unparse(value.func) == "range"
    return is_range or isinstance(value, ast.Dict)


def parsed(tree: ast.Module) -> list[str]:
    """Return the calls that take apart text which these rooms have put together."""
    return [
        ast.unparse(call)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if call.func.attr in _PARSES
        for given in call.args
        if isinstance(given, ast.Constant) and isinstance(given.value, str)
        if _OURS.search(given.value) or is_sentence(given.value)
    ]


@pytest.mark.parametrize("tree", [tree for _name, tree in modules()])
def test_facts_have_no_sentences(tree: ast.Module) -> None:
    assert sentences(tree) == []


def test_advice_has_no_sentences_outside_of_its_catalogue() -> None:
    found = {path: sentences(ast.parse(path.read_text("utf-8"))) for path in ADVICE.rglob("*.py")}
    assert {path.name: texts for path, texts in found.items() if texts} == {}


@pytest.mark.parametrize(("name", "tree"), list(modules()))
def test_facts_have_no_limits_of_their_own(name: str, tree: ast.Module) -> None:
    assert name in _FORMULAS or limits(tree) == []


@pytest.mark.parametrize(("name", "tree"), list(modules()))
def test_facts_parse_no_text_of_ours(name: str, tree: ast.Module) -> None:
    del name
    assert parsed(tree) == []


@pytest.mark.parametrize("room", [ADVICE, VERDICTS], ids=lambda room: room.name)
def test_advice_and_verdicts_have_no_limits_of_their_own(room: Path) -> None:
    found = {path.name: limits(ast.parse(path.read_text("utf-8"))) for path in room.rglob("*.py")}
    assert {name: numbers for name, numbers in found.items() if numbers} == {}


@pytest.mark.parametrize("room", [ADVICE, VERDICTS], ids=lambda room: room.name)
def test_advice_and_verdicts_parse_no_text_of_ours(room: Path) -> None:
    found = {path.name: parsed(ast.parse(path.read_text("utf-8"))) for path in room.rglob("*.py")}
    assert {name: len(calls) for name, calls in found.items() if calls} == (
        _SHAPES if room is ADVICE else {}
    )


def test_thresholds_are_few_and_used_and_have_a_reason_each() -> None:
    text = (TABLES / "core/thresholds.py").read_text("utf-8")
    lines = [line for line in text.splitlines() if ": Final = " in line]
    assert 0 < len(lines) <= 60
    assert [line for line in lines if "  # " not in line] == []
    rooms = (TABLES, ADVICE, VERDICTS)
    sources = "\n".join(
        path.read_text("utf-8")
        for room in rooms
        for path in room.rglob("*")
        if path.suffix in (".py", ".toml") and path.name != "thresholds.py"
    )
    names = [line.partition(":")[0] for line in lines]
    assert [name for name in names if not re.search(rf"\b{name}\b", sources)] == []


def test_conditions_of_the_catalogue_have_no_limits_of_their_own() -> None:
    found = {
        number
        for cause in causes().values()
        for number in re.findall(r"[<>=]=? *([\d.]+)", cause.when)
    }
    assert found <= {"0", "1", "2"}


def test_a_breach_is_noticed() -> None:
    tree = ast.parse(
        'LIMIT = 0.7\ndef told(name, most=5):\n    text = "most of it is in the gap"\n'
        '    return name.partition(" → ") if most > 8 else text\n'
    )
    assert sentences(tree) == ["most of it is in the gap"]
    assert sorted(limits(tree)) == ["0.7", "5", "8"]
    assert len(parsed(tree)) == 1


def test_no_module_of_facts_was_left_out() -> None:
    names = [name for name, _tree in modules()]
    assert all(Path(TABLES / name).is_file() for name in _FORMULAS)
    assert len(names) > len(ROOMS)
