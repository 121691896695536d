"""Every pattern of the package takes time in proportion to the text, whatever the text says.

    python -m tests.architecture.test_patterns

prints the growth of each.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import string
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import stepscope
from stepscope.limits import MAX_NAME_CHARS

# The standard library's own parser of patterns; typeshed knows neither of its places.
_IS_NEW = sys.version_info >= (3, 11)
sre: Any = import_module("re._constants" if _IS_NEW else "sre_constants")
parser: Any = import_module("re._parser" if _IS_NEW else "sre_parse")

_FUNCTIONS = ("search", "match", "fullmatch", "sub", "subn", "findall", "finditer", "split")
_FRAMEWORKS = ("tensorflow", "jax", "torch")
_PLAIN = ("a", "A", "0", " ", "_", "/", ".", ",", ":", ";", "(", "[", "{", "<", "-", "\n", "é")
# Beyond this, on names as long as any pattern sees, growth is measured.
_SUSPECT_NS_PER_CHAR = 40.0
# Between 1, which is linear, and the 4 of what is quadratic.
_MAX_GROWTH = 2.8
_TRIES = 5
_LENGTHS = (MAX_NAME_CHARS // 8, MAX_NAME_CHARS // 2)


def _modules() -> Iterator[Any]:
    hidden = {name: sys.modules.get(name) for name in _FRAMEWORKS}
    for name in _FRAMEWORKS:
        sys.modules[name] = None  # type: ignore[assignment]  # an import of it fails
    try:
        for info in pkgutil.walk_packages(stepscope.__path__, "stepscope."):
            if not info.name.endswith("__main__"):
                try:
                    yield importlib.import_module(info.name)
                except ImportError:  # a recorder of a framework, or a plugin of another tool
                    continue
    finally:
        for name, module in hidden.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def _inside(value: Any, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4 and isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from _inside(part, depth + 1)
    elif depth < 4 and isinstance(value, dict):
        for part in (*value, *value.values()):
            yield from _inside(part, depth + 1)


def _inline(source: str) -> Iterator[tuple[re.Pattern[Any], bool]]:
    """Patterns given to functions of ``re`` where they are used; whether only at the begin."""
    has_any = any(f"re.{name}(" in source for name in _FUNCTIONS)
    for node in ast.walk(ast.parse(source)) if has_any else ():
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        module = node.func.value
        if isinstance(module, ast.Name) and module.id == "re" and node.func.attr in _FUNCTIONS:
            text = node.args[0] if node.args else None
            if isinstance(text, ast.Constant) and isinstance(text.value, (str, bytes)):
                yield re.compile(text.value), node.func.attr in ("match", "fullmatch")


@cache
def patterns() -> dict[tuple[str | bytes, int], tuple[str, re.Pattern[Any], bool]]:
    """Where each pattern is, and whether it is only matched at the begin of texts."""
    found: dict[tuple[str | bytes, int], tuple[str, re.Pattern[Any], bool]] = {}
    for module in _modules():
        if not module.__file__ or not module.__file__.endswith(".py"):
            continue
        source = Path(module.__file__).read_text()
        searches = re.search(r"\.(search|sub|subn|findall|finditer)\(", source) is not None
        for name, value in vars(module).items():
            held = list(_inside(value))
            uses = _uses(name, source) if held else set()
            is_anchored = (bool(uses) and uses <= {"match", "fullmatch"}) or not searches
            for pattern in held:
                key = pattern.pattern, pattern.flags
                before = found.get(key)
                anchored = is_anchored and (before is None or before[2])
                found[key] = (f"{module.__name__}.{name}", pattern, anchored)
        for pattern, anchored in _inline(source):
            found.setdefault(
                (pattern.pattern, pattern.flags), (f"{module.__name__} (inline)", pattern, anchored)
            )
    return found


def _uses(name: str, source: str) -> set[str]:
    """The methods that a module calls on a pattern, or on each pattern of a list."""
    own = re.escape(name)
    uses = set(re.findall(rf"\b{own}\.(\w+)\(", source))
    for variable in re.findall(rf"\bfor (\w+) in \(?(?:_\w+, ?)*{own}\b", source):
        uses |= set(re.findall(rf"\b{variable}\.(match|fullmatch|search|sub|finditer)\(", source))
    return uses


def _char(items: list[Any]) -> str:
    """A character of a set."""
    wanted = re.compile("".join(_set_text(items)), re.DOTALL) if items else None
    for candidate in string.printable + "é":
        if wanted is None or wanted.fullmatch(candidate):
            return candidate
    return "a"


def _set_text(items: list[Any]) -> Iterator[str]:
    yield "["
    for kind, value in items:
        if kind is sre.NEGATE:
            yield "^"
        elif kind is sre.LITERAL:
            yield re.escape(chr(value))
        elif kind is sre.RANGE:
            yield f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        elif kind is sre.CATEGORY:
            yield {
                sre.CATEGORY_DIGIT: r"\d", sre.CATEGORY_NOT_DIGIT: r"\D",
                sre.CATEGORY_SPACE: r"\s", sre.CATEGORY_NOT_SPACE: r"\S",
                sre.CATEGORY_WORD: r"\w", sre.CATEGORY_NOT_WORD: r"\W",
            }[value]  # fmt: skip
    yield "]"


class _Sampler:
    """Makes texts that a pattern begins to match, and that repeat what it repeats."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        text = pattern.pattern
        plain = text.decode("latin-1") if isinstance(text, bytes) else text
        self._tree = parser.parse(plain, pattern.flags & ~re.UNICODE)
        self.pumps: set[tuple[str, str]] = set()
        self.whole = self._walk(self._tree, "")

    def _walk(self, nodes: Any, before: str) -> str:
        """A shortest text of some nodes; notes each repeat with what comes before it."""
        made = ""
        for kind, value in nodes:
            made += self._made(kind, value, before + made)
        return made

    def _made(self, kind: Any, value: Any, before: str) -> str:
        if kind is sre.LITERAL:
            return chr(value)
        if kind is sre.NOT_LITERAL:
            return "a" if chr(value) != "a" else "b"
        if kind is sre.ANY:
            return "a"
        if kind is sre.IN:
            return _char(value)
        if kind is sre.BRANCH:
            return [self._walk(branch, before) for branch in value[1]][-1]
        if kind is sre.SUBPATTERN:
            return self._walk(value[-1], before)
        if kind in (sre.ASSERT, sre.ASSERT_NOT):
            self._walk(value[1], before)
            return ""
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT) or str(kind) == "POSSESSIVE_REPEAT":
            low, high, body = value
            unit = self._walk(body, before)
            if high > 8 and unit:
                self.pumps.add((before, unit))
            return str(unit * min(low, 8))
        if str(kind) == "ATOMIC_GROUP":
            return self._walk(value, before)
        return ""


def attacks(pattern: re.Pattern[Any], length: int) -> Iterator[Any]:
    """Texts of a length that drive a pattern to its most work."""
    sampler = _Sampler(pattern)
    texts = {char * length: None for char in _PLAIN}
    for before, unit in sorted(sampler.pumps):
        repeated = unit * (length // len(unit))
        texts |= dict.fromkeys((before + repeated, before + repeated + "\0"))
        start = before + unit
        if len(start) > length:
            continue
        texts |= dict.fromkeys(
            (start * (length // len(start)), (start + " ") * (length // len(start)))
        )
    if sampler.whole:
        texts[sampler.whole * max(length // len(sampler.whole), 1)] = None
        texts[sampler.whole[:-1] * max(length // len(sampler.whole), 1)] = None
    for text in texts:
        yield text.encode("utf-8") if isinstance(pattern.pattern, bytes) else text


def _time_ns(work: Callable[[], object], times: int) -> int:
    """Processor time of the fastest of some runs, which noise cannot shorten."""
    best = 1 << 62
    for _ in range(times):
        begin = time.thread_time_ns()
        work()
        best = min(best, time.thread_time_ns() - begin)
    return best


def _all_matches(pattern: re.Pattern[Any], anchored: bool, text: Any) -> Callable[[], object]:
    if anchored:
        return lambda: (pattern.match(text), pattern.fullmatch(text))
    return lambda: sum(1 for _ in pattern.finditer(text))


def growth(pattern: re.Pattern[Any], anchored: bool, lengths: tuple[int, int] = _LENGTHS) -> float:
    """The most that time per character grows between texts of two lengths; 1 is linear.

    A suspect is measured again, and the fastest runs of both lengths are compared: a neighbour on
    the machine makes no linear pattern look slow.
    """
    worst = 0.0
    for few, many in zip(*(attacks(pattern, length) for length in lengths), strict=False):
        if not few:
            continue
        short, long = (_all_matches(pattern, anchored, text) for text in (few, many))
        base = _time_ns(short, 2)
        if base >= _SUSPECT_NS_PER_CHAR * len(few):
            base = min(base, _time_ns(short, 5))
        if base < _SUSPECT_NS_PER_CHAR * len(few):
            continue
        more = _time_ns(long, 2)
        for _ in range(_TRIES):
            if more / len(many) <= _MAX_GROWTH * base / len(few):
                break
            base, more = min(base, _time_ns(short, 5)), min(more, _time_ns(long, 2))
        worst = max(worst, (more / len(many)) / (base / len(few)))
    return worst


def test_the_attack_finds_what_grows() -> None:
    few = (64, 256)  # cubic growth takes a minute on texts as long as any pattern sees
    assert growth(re.compile(r"(\w+)\s*=\s*x"), False, few) > _MAX_GROWTH
    assert growth(re.compile(r"a.*a.*c"), False, few) > _MAX_GROWTH
    assert growth(re.compile(r"\w+"), False, few) < _MAX_GROWTH


def test_every_pattern_of_the_package_is_linear() -> None:
    """Growth per character is compared within one run; seconds are not."""
    assert len(patterns()) > 400
    growths = [
        (where, pattern.pattern, growth(pattern, anchored))
        for where, pattern, anchored in patterns().values()
    ]
    assert [
        f"{where}: {ratio:.1f} {text!r:.120}"
        for where, text, ratio in growths
        if ratio > _MAX_GROWTH
    ] == []


def main() -> int:
    """Print each pattern and its growth, 0 where no text takes 40 ns a character."""
    worst = 0.0
    for where, pattern, anchored in sorted(patterns().values(), key=lambda entry: entry[0]):
        ratio = growth(pattern, anchored)
        worst = max(worst, ratio)
        print(f"{ratio:5.2f} {where} {pattern.pattern!r:.70}")
    print(f"{len(patterns())} patterns, growth per character {worst:.2f} at most")
    return 1 if worst > _MAX_GROWTH else 0


if __name__ == "__main__":
    raise SystemExit(main())
