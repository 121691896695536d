"""TypeScript types of the HTTP API, as far as the pages name them: envelopes, results, rows."""

from __future__ import annotations

import json
import re
import types
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from stepscope.comparison import Comparison
from stepscope.pod.report import Pod
from stepscope.registry import VIEWS, Tool
from stepscope.result import Checked, Diagnostic, Result, columns_of
from stepscope.surfaces.envelope import ENVELOPES
from stepscope.surfaces.fields import first_sentence, own_fields, records_in, row_of, table_fields

_PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}

_HEAD = """// Generated: python -m generate. Do not edit.

/** The views of the page and their tabs, in order. */
export const VIEWS: readonly (readonly [view: string, tabs: readonly string[]])[] = {views};

/** A table as columns of equal length; null is "not available", never zero. */
export interface TableOf<Columns> {{
  readonly rows: number;
  readonly columns: Columns;
}}

/** What every result holds beside its own fields. */
export interface ResultBody {{
  readonly tool: string;
  readonly schema_version: number;
  readonly session: string;
  readonly hosts: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
  readonly files_used: readonly string[];
  readonly times: string;
  readonly times_of: "" | "step" | "recording";
  readonly selection: string;
}}
"""


_IMPORT = re.compile(r'\bimport (?:type )?\{([^}]*)\} from "[^"]*/types\.gen\.ts"')


def types_source(tools: Sequence[Tool], pages: Iterable[str]) -> str:
    """Text of ``web/src/api/types.gen.ts``: the types that these sources import, and theirs."""
    head = _HEAD.format(views=json.dumps(list(VIEWS.items())))
    results = [*(tool.result for tool in tools), Comparison, Pod]
    records = [record for result in results for record in _all_records(result)]
    rows = [row for result in results for row in table_fields(result).values()]
    names = _names([*ENVELOPES, Diagnostic, Checked, *records, *rows, *results])
    nested = list(dict.fromkeys([Diagnostic, Checked, *records]))
    parts = {names[cls]: _interface(cls, names) for cls in [*ENVELOPES, *nested]}
    parts |= {names[row]: _columns(row, names) for row in dict.fromkeys(rows)}
    parts |= {names[result]: _interface(result, names) for result in results}
    imports = " ".join(found for page in pages for found in _IMPORT.findall(page))
    used = _reached(parts, re.findall(r"\w+", imports + head))
    return head + "\n" + "\n".join(text for name, text in parts.items() if name in used)


def _reached(parts: Mapping[str, str], words: Iterable[str]) -> set[str]:
    """Return the names among these words, and those that their texts name in turn."""
    used: set[str] = set()
    waiting = [word for word in words if word in parts]
    while waiting:
        name = waiting.pop()
        if name not in used:
            used.add(name)
            waiting += [word for word in re.findall(r"\w+", parts[name]) if word in parts]
    return used


def _names(classes: list[type]) -> dict[type, str]:
    """A name for each class: its own, with its module's before it where two classes share one."""
    used = Counter(cls.__name__ for cls in dict.fromkeys(classes))
    return {
        cls: cls.__name__ if used[cls.__name__] == 1 else _module_words(cls) + cls.__name__
        for cls in classes
    }


def _module_words(cls: type) -> str:
    return "".join(word.title() for word in cls.__module__.rsplit(".", 1)[-1].split("_"))


def _all_records(cls: type) -> list[type]:
    """Nested records of a result, depth first, each once."""
    found: dict[type, None] = {}
    for hint in own_fields(cls).values():
        for record in records_in(hint):
            if row_of(hint) is None:
                found.update(dict.fromkeys([record, *_all_records(record)]))
    return list(found)


def _interface(cls: type, names: dict[type, str]) -> str:
    hints = get_type_hints(cls) if is_typeddict(cls) else own_fields(cls)
    base = next((base for base in cls.__mro__[1:] if base in names), None)
    if base is not None:
        hints = {name: hint for name, hint in hints.items() if name not in own_fields(base)}
    known = [names[cls], *(["ResultBody"] if issubclass(cls, Result) else [])]
    if base is not None:
        known.append(names[base])
    optional = getattr(cls, "__optional_keys__", ())
    lines = [
        f"  readonly {name}{'?' * (name in optional)}: {type_of(hint, names)};"
        for name, hint in hints.items()
    ]
    if issubclass(cls, Result):
        lines.insert(0, f"  readonly tool: {json.dumps(cls.tool)};")
    return (
        f"/** {first_sentence(cls)} */\nexport interface {' extends '.join(known)} {{\n"
        + "\n".join(lines)
        + "\n}\n"
    )


def _columns(row: type, names: dict[type, str]) -> str:
    lines = []
    for name, (hint, column) in columns_of(row).items():
        unit = f" ({column.unit})" if column.unit else ""
        note = f" {column.help}" if column.help else ""
        lines.append(f"  /** {column.label}{unit}.{note} */")
        lines.append(f"  readonly {name}: readonly ({_union(type_of(hint, names), 'null')})[];")
    return (
        f"/** Columns: {first_sentence(row)} */\nexport interface {names[row]} {{\n"
        + "\n".join(lines)
        + "\n}\n"
    )


def type_of(hint: Any, names: dict[type, str]) -> str:
    """A Python type as TypeScript."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return type_of(arguments[0], names)
    if (row := row_of(hint)) is not None:
        return f"TableOf<{names[row]}>"
    if origin is Literal:
        return " | ".join(json.dumps(choice) for choice in arguments)
    if origin in (Union, types.UnionType):
        return _union(*(type_of(inner, names) for inner in arguments))
    if origin is tuple:
        return f"readonly {_grouped(type_of(arguments[0], names))}[]"
    if origin is list:
        return f"readonly {_grouped(type_of(arguments[0], names))}[]"
    if origin in (dict, Mapping):
        return f"Readonly<Record<string, {type_of(arguments[1], names)}>>"
    if hint is Any:
        return "unknown"
    # Numbers can be "not available": JSON has null for NaN.
    plain = _PLAIN.get(hint)
    if plain is not None:
        return "number | null" if hint is float else plain
    return names[hint]


def _union(*members: str) -> str:
    """A union type with every member once."""
    return " | ".join(dict.fromkeys(part for member in members for part in member.split(" | ")))


def _grouped(text: str) -> str:
    return f"({text})" if " " in text else text
