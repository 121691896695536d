"""``python lint/prose.py [--list SCOPE] [--lower]``: the style rules that a machine can check.

proselint runs the rules; this file finds the texts. A rule has a scope's count in ``prose.toml``
that may only fall.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from proselint.checks import __register__ as _PROSELINT
from proselint.registry.checks import Check, CheckResult, types
from proselint.registry.checks.engine import Fancy, RegexOptions

ROOT: Final = Path(__file__).resolve().parents[1]
COUNTS: Final = ROOT / "lint" / "prose.toml"
MAX_WORDS: Final = 25
_SHORT_LIST: Final = 50

# proselint's own rules that fit technical English; the others judge novels and newspapers.
_OWN: Final = (
    "archaism",
    "cliches",
    "malapropisms",
    "misc.illogic",
    "mondegreens",
    "nonwords",
    "redundancy",
)
# Rule → pattern and what to write instead; the letters are those of the style guide.
_PATTERNS: Final = {
    "F1 fronted": (r"(?:^|(?<=[.:;] ))(?:Of|Beside|So) (?!far\b|that\b)", "the subject"),
    "F2 what": (
        r"(?:^|(?<=[.:;] ))What (?![^.:;]*\?)|\b(?:of|than|from|with|by|and) what\b",
        "a noun",
    ),
    "F4 so many": (r"\bso (?:many|much|long|often)\b(?! (?:as|that)\b)", "at most N"),
    "F5 alone": (r"(?<!stand)(?<!stands)(?<!leave)(?<!let) alone\b", "only"),
    "F6 verb": (
        r"\b(?:takes?|took) (?=\d|most of|of)|\btells? (?:which|what|how|where|apart)\b"
        r"|\bsays? (?:which|what|how|where|so)\b|\bgiven? back\b",
        "the exact verb",
    ),
    "F8 told": (r"\b(?:is|are|was|were|be|been|being) (?:told|said)\b", "reported, shown"),
    "F12 term": (
        r"\bhand(?:s|ed|ing)? (?:work |it )?over\b|\bstretch(?:es)? of\b|\bbetween (?:two )?looks\b"
        r"|\bturns? of (?:a|the) loop\b|\bholds? the lock of Python\b|\bgradient pass apart\b",
        "the field's term",
    ),
}
_SENTENCE: Final = re.compile(r"[^.!?:]+(?:[.!?:](?!\s|$)[^.!?:]*)*")


class Text(NamedTuple):
    """A piece of prose, code replaced by ``X``."""

    scope: str
    path: str
    line: int
    words: str


class Fault(NamedTuple):
    """A place that breaks a rule."""

    scope: str
    rule: str
    path: str
    line: int
    words: str
    better: str


# ---------------------------------------------------------------------------- rules


def _long_sentences(text: str, check: Check) -> Iterator[CheckResult]:
    for sentence in _SENTENCE.finditer(text):
        if len(re.findall(r"[\w'’/-]+", sentence[0])) > MAX_WORDS:
            yield CheckResult(check.path, check.message, sentence.span(), None)


def _semicolons(text: str, check: Check) -> Iterator[CheckResult]:
    for sentence in re.finditer(r"[^.!?]+", text):
        if sentence[0].count("; ") > 1:
            yield CheckResult(check.path, check.message, sentence.span(), None)


def checks() -> list[Check]:
    """Return the rules of the style guide, and those of proselint that fit."""
    own = [check for check in _PROSELINT if any(map(check.matches_partial, _OWN))]
    engine = Fancy(RegexOptions(case_insensitive=False))
    guide = [
        Check(types.ExistenceSimple(pattern), engine, path=rule, message=better)
        for rule, (pattern, better) in _PATTERNS.items()
    ]
    return [
        *guide,
        Check(_semicolons, path="F10 semicolons", message="two sentences"),
        Check(_long_sentences, path="long sentence", message=f"at most {MAX_WORDS} words"),
        *own,
    ]


CHECKS: Final = checks()


def faults(text: Text) -> Iterator[Fault]:
    """Yield the places of a text that break a rule."""
    words = f" {text.words} "  # proselint expects a character around each match
    for check in CHECKS:
        for result in check.check_with_flags(text.words if "F" in check.path[:1] else words):
            begin, end = result.span
            shown = (text.words if "F" in check.path[:1] else words)[begin:end].strip()
            # proselint's rules count together, by their first word.
            rule = check.path if " " in check.path else f"proselint {check.path.split('.')[0]}"
            yield Fault(text.scope, rule, text.path, text.line, shown, result.message)


# ---------------------------------------------------------------------------- texts


def documents(path: str) -> Iterator[Text]:
    """Yield the paragraphs, items and cells of a Markdown file, generated parts left out."""
    source = (ROOT / path).read_text("utf-8")
    for hidden in (r"<!-- generated: begin.*?generated: end -->", r"```.*?```", r"<!--.*?-->"):
        source = re.sub(hidden, lambda found: "\n" * found[0].count("\n"), source, flags=re.DOTALL)
    block: list[str] = []
    begin = 1
    for number, line in enumerate([*source.splitlines(), ""], 1):
        is_row = line.lstrip().startswith("|")
        if block and (not line.strip() or is_row or re.match(r"\s*([-*#>]|\d+\.) ", line)):
            yield Text("documents", path, begin, plain(" ".join(block)))
            block = []
        if is_row:
            for cell in line.strip().strip("|").split("|"):
                yield Text("documents", path, number, plain(cell))
        elif line.strip():
            if not block:
                begin = number
            block.append(re.sub(r"^\s*([-*#>]+|\d+\.) ", "", line).strip())


def plain(markdown: str) -> str:
    """Return the words of Markdown: code as ``X``, links as their text."""
    text = re.sub(r"``.+?``|`[^`]+`", "X", markdown)
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"https?://\S+", "X", text)
    return " ".join(re.sub(r"\*\*|(?<!\w)[*_]|[*_](?!\w)", "", text).split())


def source_texts(path: str) -> Iterator[Text]:
    """Yield the errors, help texts, docstrings and comments of a Python file."""
    source = (ROOT / path).read_text("utf-8")
    tree = ast.parse(source)
    is_package = path.startswith("src/")
    for node in ast.walk(tree):
        if is_package and isinstance(node, ast.Call):
            yield from _call_texts(node, path)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring is None:
                continue
            scope = "help" if _is_command(node) else "docstrings"
            line = node.body[0].lineno
            for paragraph in re.split(r"\n\s*\n|\n(?=\s+\w+: )", docstring):
                yield Text(scope, path, line, plain(re.sub(r"^\s*\w+: ", "", paragraph)))
    yield from _comments(path)


def _is_command(node: ast.AST) -> bool:
    decorators = getattr(node, "decorator_list", [])
    return any("click.command" in ast.unparse(each) for each in decorators)


def _call_texts(node: ast.Call, path: str) -> Iterator[Text]:
    name = ast.unparse(node.func).rpartition(".")[2]
    is_error = name.endswith("Error") or name in ("NothingToShow", "_refusal", "Miss", "Need")
    keywords = {"what", "why", "hint", "missing"} if is_error else {"help"}
    listed = [each.value for each in node.keywords if each.arg in keywords]
    if is_error or name == "Help":
        listed += node.args
    scope = "errors" if is_error else "help"
    for value in listed:
        words = _literal(value)
        if " " in words:
            yield Text(scope, path, value.lineno, plain(words))


def _literal(node: ast.expr) -> str:
    """Return a string as far as it is written in the code, its values as ``X``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_literal(part) or "X" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _literal(node.left) + _literal(node.right)
    if isinstance(node, ast.IfExp):
        return f"{_literal(node.body)} {_literal(node.orelse)}"
    return ""


def _comments(path: str) -> Iterator[Text]:
    """Yield comments; lines of one below the other are one text."""
    begin, last, block = 0, -1, ""
    with (ROOT / path).open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type != tokenize.COMMENT or re.match(r"#\s*(type:|noqa|fmt:|ruff)", token[1]):
                continue
            words = token.string.lstrip("#: ")
            if token.start[0] == last + 1 and block:
                block += f" {words}"
            else:
                if block:
                    yield Text("comments", path, begin, plain(block))
                begin, block = token.start[0], words
            last = token.start[0]
    if block:
        yield Text("comments", path, begin, plain(block))


def page_texts(path: str) -> Iterator[Text]:
    """Yield the sentences in the strings and the markup of a TypeScript file."""
    source = (ROOT / path).read_text("utf-8")
    source = re.sub(r"/\*.*?\*/|^\s*//.*?$", _blank, source, flags=re.DOTALL | re.MULTILINE)
    for found in re.finditer(r"\"([^\"\n]+)\"|>([^<>{}=;]+)<", source):
        words = " ".join((found[1] or found[2]).split())
        if len(re.findall(r"[A-Za-z]{2,}", words)) >= 4 and "--" not in words:
            yield Text("pages", path, source.count("\n", 0, found.start()) + 1, words)


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def texts() -> Iterator[Text]:
    """Yield every text of the repository that a person reads and that is not generated."""
    readers: tuple[tuple[str, Callable[[str], Iterator[Text]]], ...] = (
        (r"(docs/(?!tools/README|cli\.md).*|(?!THIRD_PARTY)[A-Z]\w*|examples/.*)\.md", documents),
        (r"(src|bench|build_backend|generate|lint)/.*\.py|(dev|setup)\.py", source_texts),
        (r"web/src/.*(?<!\.gen)\.tsx?", page_texts),
    )
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in sorted(listed.stdout.split("\0")):
        for pattern, reader in readers:
            if re.fullmatch(pattern, name) and (ROOT / name).is_file() and not _is_generated(name):
                yield from reader(name)


def _is_generated(name: str) -> bool:
    return b"Generated: python" in (ROOT / name).open("rb").readline()


# -------------------------------------------------------------------------- counts


def allowed() -> Counter[tuple[str, str]]:
    """Return how many faults of a rule each scope may still have."""
    scope, found = "", Counter[tuple[str, str]]()
    for line in COUNTS.read_text("utf-8").splitlines():
        if line.startswith("["):
            scope = line.strip("[]")
        elif line.startswith('"'):
            rule, _, number = line.rpartition(" = ")
            found[scope, rule.strip('"')] = int(number)
    return found


def main(arguments: list[str]) -> int:
    """Print the faults beyond the counts, or those of a scope; 1 if there are more than allowed."""
    found = [fault for text in texts() for fault in faults(text)]
    counts = Counter((fault.scope, fault.rule) for fault in found)
    limits = allowed() if COUNTS.is_file() else Counter(counts)
    over = {key for key, number in counts.items() if number > limits[key]}
    shown = arguments[1:] if arguments[:1] == ["--list"] else []
    for fault in found:
        key = (fault.scope, fault.rule)
        if fault.scope in shown or (key in over and counts[key] <= _SHORT_LIST):
            place = f"{fault.path}:{fault.line}"
            print(f"{place}: {fault.rule}: {fault.words!r}: {fault.better}")
    for scope, rule in sorted(over):
        number, limit = counts[scope, rule], limits[scope, rule]
        print(f"{scope}: {number} of {rule!r}, {limit} allowed; --list {scope} shows them")
    if arguments == ["--lower"] and not over:
        scopes = sorted({scope for scope, _ in counts})
        lines = ["# Faults left, by scope and rule; they may only fall (lint/prose.py --lower)."]
        for scope in scopes:
            lines += ["", f"[{scope}]"]
            lines += [f'"{rule}" = {n}' for (s, rule), n in sorted(counts.items()) if s == scope]
        COUNTS.write_text("\n".join(lines) + "\n", "utf-8")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
